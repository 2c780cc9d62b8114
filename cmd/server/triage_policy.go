package main

import (
	"time"

	"fleetglass/dlqtriage"
)

// triagePolicy follows the file of the triage policy.
type triagePolicy struct {
	*followedValue[*dlqtriage.Policy]
}

// openPolicy reads the triage policy and follows its file from then on.
func (a *App) openPolicy(cfg Config, now func() time.Time) error {
	a.policy = &triagePolicy{&followedValue[*dlqtriage.Policy]{
		name: "triage policy", kind: "triage", file: followedFile{name: cfg.TriagePolicy}, parse: dlqtriage.ParsePolicy, now: now,
	}}
	return followValue(a, a.policy.followedValue, dlqtriage.DefaultPolicy())
}

// Policy is the policy in force.
func (p *triagePolicy) Policy() *dlqtriage.Policy { return p.Value() }

// State is the policy in force, and where it came from.
func (p *triagePolicy) State() dlqtriage.PolicyState {
	s := p.followedValue.State()
	return dlqtriage.PolicyState{Policy: s.Value, File: p.file.name, LoadedAt: s.LoadedAt, Problem: s.Problem}
}
