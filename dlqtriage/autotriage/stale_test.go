package autotriage_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/dlqtriage/autotriage"
	"fleetglass/lifecycle"
)

// ann is a person who decides.
var ann = decision.Actor{Name: "ann", Role: "triager", Via: decision.ViaPage}

// person decides about an entry through the service that everybody uses.
func (o *office) person(entry string, action dlqtriage.ActionKind, params dlqtriage.Params) {
	o.t.Helper()
	cfg, err := config(o.js, o.store, func() *dlqtriage.Policy { return o.policy })
	if err != nil {
		o.t.Fatal(err)
	}
	_, err = cfg.Actions.Act(o.t.Context(), dlqtriage.Request{Entry: entry, Action: action, Reason: "as ann sees it", Params: params, Actor: ann, Key: fmt.Sprint(action, time.Now().UnixNano())})
	if err != nil {
		o.t.Errorf("%s: %v", action, err)
	}
}

// deferredAndOpened is what a person does who changes their mind.
func (o *office) deferredAndOpened(entry string) {
	o.person(entry, dlqtriage.ActionDefer, dlqtriage.Params{To: dlqtriage.ToHuman})
	o.person(entry, dlqtriage.ActionReopen, dlqtriage.Params{})
}

// listed is a store that lets something happen right after the entries were listed.
type listed struct {
	entryStore
	then func()
}

func (l listed) Entries(ctx context.Context, f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) (dlqtriage.EntryPage, error) {
	page, err := l.entryStore.Entries(ctx, f, p)
	if len(page.Entries) > 0 {
		l.then()
	}
	return page, err
}

// What the desk decides, it decides about the entry as it is then, not as it was listed.
func TestWhatAPersonDecidesMeanwhileCounts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		at       string // When the person decides: after the list was read, or before this step.
		decides  func(o *office, entry string)
		category dlqtriage.Category // Of the entry when it is listed.
		retried  int
		told     int    // How often it was decided to tell somebody.
		toldThat string // Why; empty where nobody is told after all.
	}{
		"it is deferred and opened again after it was listed":               {at: "listed", category: dlqtriage.Transient, decides: (*office).deferredAndOpened},
		"one that is told is deferred and opened again after it was listed": {at: "listed", category: dlqtriage.Permanent, decides: (*office).deferredAndOpened},
		"it is deferred and opened again just before its plan is taken":     {at: "before decide", category: dlqtriage.Transient, decides: (*office).deferredAndOpened},
		"it is deferred and opened again just before somebody is told":      {at: "before claim", category: dlqtriage.Permanent, told: 1, decides: (*office).deferredAndOpened},
		"it gets a class that the policy leaves to others": {at: "listed", category: dlqtriage.Transient, told: 1, toldThat: "the policy leaves conditionally recoverable causes to somebody else", decides: func(o *office, entry string) {
			o.person(entry, dlqtriage.ActionReclassify, dlqtriage.Params{Category: dlqtriage.ConditionallyRecoverable, Detail: "context_window_overflow"})
		}},
		"it gets another class of the policy just before its plan is taken": {at: "before decide", category: dlqtriage.Transient, retried: 1, decides: func(o *office, entry string) {
			o.person(entry, dlqtriage.ActionReclassify, dlqtriage.Params{Category: dlqtriage.Transient, Detail: "llm_provider_timeout"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			o.policy.Auto.Categories = []dlqtriage.Category{dlqtriage.Transient}
			detail := map[dlqtriage.Category]string{dlqtriage.Transient: "network_transient", dlqtriage.Permanent: "authority_exceeded"}[tt.category]
			entry := o.dies("cto", "code_review", tt.category, detail)
			meanwhile := sync.OnceFunc(func() { tt.decides(o, entry) })
			turns := make(chan struct{}, 100)
			o.open(1, func(cfg *autotriage.Config) {
				toCEO(cfg)
				if tt.at == "listed" {
					cfg.Store = listed{o.store, meanwhile}
				}
				cfg.Step = func(step string) {
					if step == tt.at {
						meanwhile()
					}
					if step == "before claim" { // After each look at all entries.
						select {
						case turns <- struct{}{}:
						default:
						}
					}
				}
			})
			for range 4 {
				select {
				case <-turns:
				case <-time.After(patience):
					t.Fatal("it did not look again")
				}
			}
			o.records("retry", tt.retried)
			if told := o.records("escalate", tt.told); tt.told > 0 && !strings.Contains(told[0].Reason, tt.toldThat) {
				t.Errorf("told because %q, want %q", told[0].Reason, tt.toldThat)
			}
			if tt.toldThat == "" {
				o.told(0)
			} else {
				o.told(1)
			}
		})
	}
}

// gone are actions that find an entry no more once it was listed: its message turned out to live.
type gone struct {
	autotriage.Actions
	entry string
}

func (g gone) Examine(ctx context.Context, id string) (dlqtriage.Known, dlqtriage.Plan, error) {
	if id == g.entry {
		return dlqtriage.Known{}, dlqtriage.Plan{}, fmt.Errorf("read entry: %w", lifecycle.ErrNotFound)
	}
	return g.Actions.Examine(ctx, id)
}

// One entry that is no longer there keeps nobody from the others, and is no failure.
func TestAnEntryThatIsNoLongerThereStopsNothing(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	other := o.dies("cto", "code_review", dlqtriage.Transient, "network_transient")
	lives := o.dies("cto", "code_review", dlqtriage.Transient, "network_transient") // It is listed first.
	o.open(1, func(cfg *autotriage.Config) {
		cfg.Actions = gone{cfg.Actions, lives}
	})
	if r := o.records("retry", 1)[0]; r.Target != other {
		t.Errorf("it decided about %s, want %s", r.Target, other)
	}
}
