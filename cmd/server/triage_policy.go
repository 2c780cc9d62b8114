package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// policyEvery is how often the triage policy is looked at: a change counts within a second.
const policyEvery = 250 * time.Millisecond

// triagePolicy follows the file of the triage policy. While the file cannot be used, the policy that was in force stays in force.
type triagePolicy struct {
	file followedFile // Without a name the built-in policy is in force.
	now  func() time.Time
	log  *slog.Logger

	mu    sync.Mutex
	state dlqtriage.PolicyState
}

// openPolicy reads the triage policy and follows its file from then on. It errors when the file cannot be used: a start without the rules that
// somebody configured would be a surprise.
func (a *App) openPolicy(cfg Config, now func() time.Time) error {
	a.policy = &triagePolicy{
		file: followedFile{name: cfg.TriagePolicy}, now: now, log: a.log,
		state: dlqtriage.PolicyState{Policy: dlqtriage.DefaultPolicy(), File: cfg.TriagePolicy, LoadedAt: lifecycle.MicrosOf(now())},
	}
	if cfg.TriagePolicy == "" {
		return nil
	}
	text, err := os.ReadFile(cfg.TriagePolicy)
	if err == nil {
		a.policy.state.Policy, err = dlqtriage.ParsePolicy(text)
	}
	if err != nil {
		return fmt.Errorf("read the triage policy (--triage-policy) from %s: %w", cfg.TriagePolicy, err)
	}
	a.policy.file.seen, a.policy.file.used = text, text
	a.watch(a.policy)
	a.work("triage policy", a.policy.Run)
	return nil
}

// Policy is the policy in force.
func (p *triagePolicy) Policy() *dlqtriage.Policy { return p.State().Policy }

// State is the policy in force, and where it came from.
func (p *triagePolicy) State() dlqtriage.PolicyState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Run looks at the file again and again until ctx is done.
func (p *triagePolicy) Run(ctx context.Context) error {
	tick := time.NewTicker(policyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			p.look()
		}
	}
}

// look takes the policy of the file when it is another than the one in force.
func (p *triagePolicy) look() {
	switch news, text, err := p.file.look(false); news {
	case fileUnread:
		p.keep(err)
	case fileSame:
		p.keep(nil)
	case fileChanged:
		p.take(text)
	}
}

// take puts the policy of the file into force.
func (p *triagePolicy) take(text []byte) {
	policy, err := dlqtriage.ParsePolicy(text)
	if err != nil {
		p.keep(err)
		return
	}
	p.mu.Lock()
	p.state = dlqtriage.PolicyState{Policy: policy, File: p.file.name, LoadedAt: lifecycle.MicrosOf(p.now())}
	p.mu.Unlock()
	p.file.used = text
	p.log.Info("another triage policy is in force", "file", p.file.name, "rules", len(policy.Rules))
}

// keep says why the file cannot be used, if so, and logs what is new about it.
func (p *triagePolicy) keep(err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if problem != "" && problem != p.state.Problem {
		p.log.Error("the triage policy stays as it was", "file", p.file.name, "error", err)
	}
	p.state.Problem = problem
}

// Health says whether the policy in force is that of the file.
func (p *triagePolicy) Health() []health.Part {
	part := health.Part{Name: "triage policy", Kind: "triage", State: health.OK}
	if s := p.State(); s.Problem != "" {
		part.State = health.Behind
		part.Detail = "the triage policy file cannot be used, so the policy that was in force before stays in force: " + s.Problem
	}
	return []health.Part{part}
}
