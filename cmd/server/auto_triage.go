package main

import (
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/dlqtriage/autotriage"
)

// Decides reports whether the policy's plans are applied without anybody asking.
func (c Config) Decides() bool {
	return c.AutoTriage == dlqMonitorOn || (c.AutoTriage == dlqMonitorAuto && c.Demo)
}

// escalateSubject is where an agent is told of dead letters; empty for nowhere.
func (c Config) escalateSubject() string {
	switch {
	case c.EscalateSubject == dlqMonitorOff:
		return ""
	case c.EscalateSubject == "" && c.Demo:
		return contract(c).TaskSubject("ceo", "triage")
	}
	return c.EscalateSubject
}

// autoTriages adds who decides without being asked, and who tells of the rest, where either is wanted.
func (a *App) autoTriages(cfg Config, js jetstream.JetStream, store database, now func() time.Time) error {
	if cfg.ReadOnly || (!cfg.Decides() && cfg.escalateSubject() == "" && cfg.EscalateWebhook == "") {
		return nil
	}
	hook, err := cfg.hook(cfg.EscalateWebhook, cfg.EscalateSecret)
	if err != nil {
		return err
	}
	desk, err := autotriage.New(autotriage.Config{
		JetStream: js, Contract: contract(cfg), Store: store, Actions: a.triage.actions,
		Policy: a.policy.Policy, Decides: cfg.Decides(), Looks: a.looksAtDeaths, Subject: cfg.escalateSubject(), Webhook: hook,
		Mask: a.mask.Text, BaseURL: func() string { return a.baseURL(cfg) }, Every: time.Duration(cfg.Poll), Now: now, Logger: a.log,
	})
	if err != nil {
		return err
	}
	a.watch(desk)
	a.work("auto-triage", desk.Run)
	return nil
}

// baseURL is where people and programs reach the pages and the API.
func (a *App) baseURL(cfg Config) string {
	if cfg.BaseURL != "" {
		return cfg.BaseURL
	}
	return a.Pages()
}
