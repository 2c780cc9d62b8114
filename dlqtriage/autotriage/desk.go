package autotriage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// Actor is who decides, in actions and records.
const Actor = "auto-triage"

// Desk looks at what died and decides, or tells somebody. Replicas may run at the same time.
type Desk struct {
	cfg  Config
	seen map[string]lifecycle.Micros // The entries that were handled, by id, and when they died.
	over overBudget                  // Of the look that goes on.

	*health.Turns // How it is.
}

// New validates the configuration and starts nothing.
func New(cfg Config) (*Desk, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	turns := health.NewTurns(health.Part{Name: "auto_triage", Kind: "relay", State: health.OK}, cfg.Logger, "dead letters are not triaged")
	return &Desk{cfg: cfg, seen: map[string]lifecycle.Micros{}, Turns: turns}, nil
}

// Run works until ctx is done and returns nil. What fails is tried again at the next turn.
func (d *Desk) Run(ctx context.Context) error {
	tick := time.NewTicker(d.cfg.Every)
	defer tick.Stop()
	for {
		err := errors.Join(d.look(ctx), d.tellAll(ctx))
		d.Ended(ctx, err, d.cfg.Now())
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

const (
	pageSize = 200
	mostSeen = 50_000 // What is forgotten is looked at again, which changes nothing.
)

// look handles the entries that wait for a decision and that nobody has decided about, the latest first.
func (d *Desk) look(ctx context.Context) error {
	if len(d.seen) > mostSeen {
		clear(d.seen)
	}
	d.over = overBudget{}
	open := dlqtriage.EntryFilter{Statuses: []dlqtriage.Status{dlqtriage.StatusOpen}}
	for from := (*dlqtriage.EntryCursor)(nil); ; {
		page, err := d.cfg.Store.Entries(ctx, open, dlqtriage.EntryPageRequest{Limit: pageSize, From: from})
		if err != nil {
			return fmt.Errorf("list dead letters: %w", err)
		}
		for _, e := range page.Entries {
			if err := d.handle(ctx, e); err != nil {
				return err
			}
		}
		if from = page.Next; from == nil {
			return nil
		}
	}
}

// handle decides about an entry, or tells of it, once. A person's decision that was taken back stays a person's matter.
func (d *Desk) handle(ctx context.Context, e dlqtriage.Entry) error {
	if d.seen[e.ID] == e.FailedAt || !undecided(e) || !d.ready(e) || !d.cfg.escalates() && d.over.budget(e.Agent) != "" {
		return nil
	}
	told, err := d.told(ctx, e)
	if err != nil {
		return err
	}
	if !told {
		if waits, err := d.judge(ctx, e); err != nil || waits {
			return err
		}
	}
	d.seen[e.ID] = e.FailedAt
	return nil
}

// judge decides about an entry, or tells of it. Where nobody is told, what is over the budgets of this hour waits for a later one.
func (d *Desk) judge(ctx context.Context, e dlqtriage.Entry) (waits bool, err error) {
	left, err := d.decide(ctx, e)
	switch {
	case err != nil || left.changed || left.why == "":
		return left.changed, err
	case !d.cfg.escalates():
		return left.overBudget, nil
	case d.own(e):
		return false, nil
	}
	now, err := d.cfg.Store.Entry(ctx, e.ID)
	if errors.Is(err, lifecycle.ErrNotFound) || err == nil && !undecided(now) {
		return false, nil // Somebody decided since the list was read: that is why the plan is blocked.
	}
	if err != nil {
		return false, err
	}
	return false, d.escalate(ctx, e, left.why)
}

// left is an entry about which the desk does not decide. The zero value is one about which there is nothing to decide any more.
type left struct {
	why        string
	overBudget bool
	changed    bool // Somebody decides about it just now: it is looked at again.
}

// undecided reports whether nobody has decided about an entry. A decision that was taken back stays its actor's matter.
func undecided(e dlqtriage.Entry) bool { return e.Open() && !e.DecidedAt.Known() }

// ready reports whether all is known of an entry that will be soon: its copy in the broker's queue comes with its class. What nobody has looked at
// waits as long as somebody looks, also behind a backlog that outlasts the patience: nothing says yet that it has no class.
func (d *Desk) ready(e dlqtriage.Entry) bool {
	if d.cfg.Looks.Awaits(e) {
		return false
	}
	return e.Copied() || e.FailedAt.Add(d.cfg.Patience) <= d.cfg.now()
}

// own reports whether the entry is an escalation that died itself: to tell of it would go round for ever.
func (d *Desk) own(e dlqtriage.Entry) bool { return d.cfg.Subject != "" && e.Subject == d.cfg.Subject }

// decide applies the plan of an entry where the policy allows it. Where it does not, it says why. It goes by the entry as it is now: it may have changed
// since it was listed.
func (d *Desk) decide(ctx context.Context, e dlqtriage.Entry) (left, error) {
	policy := d.cfg.Policy().Auto
	switch {
	case !d.cfg.Decides:
		return left{why: "auto-triage is off"}, nil
	case d.own(e):
		return left{why: "it is an escalation itself"}, nil
	}
	known, plan, err := d.cfg.Actions.Examine(ctx, e.ID)
	switch {
	case errors.Is(err, lifecycle.ErrNotFound):
		return left{}, nil // Its message is no longer dead, or its task was deleted.
	case err != nil:
		return left{}, fmt.Errorf("examine %s: %w", e.ID, err)
	case !undecided(known.Entry):
		return left{}, nil
	case !policy.Allows(known.Entry.Category):
		return left{why: fmt.Sprintf("the policy leaves %s causes to somebody else", spaced(string(known.Entry.Category)))}, nil
	}
	if why, err := d.spent(ctx, policy, e.Agent); why != "" || err != nil {
		return left{why: why, overBudget: true}, err
	}
	if !plan.Eligible {
		return left{why: plan.Blocked[0].Why}, nil
	}
	return refused(d.apply(ctx, known, plan))
}

// apply retries an entry by its plan, unless somebody decided about it since it was examined. It is one action however often it is called.
func (d *Desk) apply(ctx context.Context, known dlqtriage.Known, plan dlqtriage.Plan) error {
	e := known.Entry
	return d.cfg.Step.Do("decide", func() error {
		_, err := d.cfg.Actions.Act(ctx, dlqtriage.Request{
			Entry: e.ID, Action: dlqtriage.ActionRetry, Reason: fmt.Sprintf("the policy allows the plan “%s” for %s causes", spaced(string(plan.Strategy)), spaced(string(e.Category))),
			Actor: decision.Actor{Name: Actor, Role: "policy", Via: decision.ViaAuto}, Key: requestKey(e), Revision: &known.Revision,
		})
		return err
	})
}

// spaced writes a name as words.
func spaced(name string) string { return strings.ReplaceAll(name, "_", " ") }

// requestKey is the key of the request to retry an entry, once for each death.
func requestKey(e dlqtriage.Entry) string { return fmt.Sprintf("%s %s %d", Actor, e.ID, e.FailedAt) }

// verdictID names what is decided about one death: that it is retried, or that somebody is told. Both have this id, so the store commits one of them,
// also where two replicas see different budgets.
func verdictID(e dlqtriage.Entry) string { return dlqtriage.ActionID(requestKey(e), e.ID) }

// refused tells a refusal, which is somebody else's matter now, from a failure.
func refused(err error) (left, error) {
	var r *dlqtriage.Refusal
	if !errors.As(err, &r) {
		return left{}, err
	}
	if r.Code == dlqtriage.RefusedBusy || r.Code == dlqtriage.RefusedChanged {
		return left{changed: true}, nil
	}
	return left{why: r.Why}, nil
}
