package main

import (
	"fmt"
	"net/netip"
	"time"

	"fleetglass/alerts/delivery"
	"fleetglass/internal/webhook"
)

// TellsOfAlerts reports whether somebody is told of alerts.
func (c Config) TellsOfAlerts() bool { return len(c.AlertmanagerURL)+len(c.AlertWebhook) > 0 }

// hook is what posts to an address; nil without one.
func (c Config) hook(address URL, secret Secret) (*webhook.Sender, error) {
	if address == "" {
		return nil, nil
	}
	var allow []netip.Prefix
	for _, text := range c.WebhookAllow {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("webhook-allow: %w", err)
		}
		allow = append(allow, network)
	}
	return webhook.New(webhook.Config{URL: address.Reveal(), Secret: secret.Reveal(), Allow: allow})
}

// validateReceivers reports what is wrong with who is told of alerts.
func (c *Config) validateReceivers(p *problems) {
	for _, text := range c.WebhookAllow {
		if _, err := netip.ParsePrefix(text); err != nil {
			p.add("webhook-allow", "%q is not a network such as 10.1.0.0/16", text)
		}
	}
	for _, u := range c.AlertmanagerURL {
		if _, err := delivery.NewAlertmanager(u.Reveal(), nil); err != nil {
			p.add("alertmanager-url", "%q is not an address such as http://alertmanager:9093", u)
		}
	}
	for _, u := range c.AlertWebhook {
		if _, err := webhook.New(webhook.Config{URL: u.Reveal(), Secret: c.AlertSecret.Reveal()}); err != nil {
			p.add("alert-webhook", "%s: %v", u, err)
		}
	}
}

// tellsOfAlerts adds what tells receivers, where there are any.
func (a *App) tellsOfAlerts(cfg Config, store database, now func() time.Time) error {
	if !cfg.TellsOfAlerts() {
		return nil
	}
	base := func() string { return a.baseURL(cfg) }
	var to []delivery.Receiver
	for _, u := range cfg.AlertmanagerURL {
		manager, err := delivery.NewAlertmanager(u.Reveal(), base)
		if err != nil {
			return err
		}
		to = append(to, manager)
	}
	for i, u := range cfg.AlertWebhook {
		hook, err := cfg.hook(u, cfg.AlertSecret)
		if err != nil {
			return err
		}
		to = append(to, &delivery.Webhook{Sender: hook, Label: fmt.Sprintf("webhook %d %s", i+1, hook.Host()), Base: base})
	}
	teller, err := delivery.New(delivery.Config{Store: store, Receivers: to, Now: now, Log: a.log})
	if err != nil {
		return err
	}
	a.watch(teller)
	a.work("alert receivers", teller.Run)
	return nil
}
