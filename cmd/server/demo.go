package main

import (
	"log/slog"

	"fleetglass/fleet/demo"
)

// demonstrate adds the demonstration fleet, on a connection of its own, when the configuration asks for it.
func (a *App) demonstrate(cfg Config, b *broker, log *slog.Logger) error {
	if !cfg.Demo {
		return nil
	}
	nc, err := b.embedded.Connect()
	if err != nil {
		return err
	}
	a.onStop("demonstration", func() error { nc.Close(); return nil })
	js, err := newJetStream(nc, "")
	if err != nil {
		return err
	}
	agents, err := demo.New(demo.Config{JetStream: js, Contract: contract(cfg), Seed: cfg.DemoSeed, Rate: cfg.DemoRate, Token: cfg.Token.Reveal(), Logger: log})
	if err != nil {
		return err
	}
	a.work("demonstration", agents.Run)
	return nil
}
