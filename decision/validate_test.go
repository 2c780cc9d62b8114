package decision

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

const when = lifecycle.Micros(1_000_000)

var (
	about  = lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: 7}
	record = AuditRecord{ID: "r", At: when, Actor: "ada", Action: "retry", Outcome: Allowed}
)

// whole is a decision that lacks nothing.
func whole() Decision {
	return Decision{ID: "d", Subject: About(about), At: when, Change: Change{
		Events:  []lifecycle.Event{{Kind: lifecycle.Decided, Message: about}, {Kind: lifecycle.DeadLettered}},
		Action:  &Action{ID: "a", Subject: About(about)},
		Audit:   []AuditRecord{record},
		Effects: []Effect{{ID: "e", Queue: "retry"}},
	}}
}

func TestADecisionThatLacksSomethingIsRefused(t *testing.T) {
	t.Parallel()
	if err := whole().Validate(); err != nil {
		t.Fatalf("a whole decision: %v", err)
	}
	long := strings.Repeat("x", maxSubject+1)
	tests := []struct {
		name   string
		change func(*Decision)
		want   string
	}{
		{"no id", func(d *Decision) { d.ID = "" }, "id is missing"},
		{"a long id", func(d *Decision) { d.ID = long }, "id is missing or too long"},
		{"no time", func(d *Decision) { d.At = 0 }, "time is missing"},
		{"nobody did it", func(d *Decision) { d.Audit = nil }, "audit record is missing"},
		{"a record without an id", func(d *Decision) { d.Audit[0].ID = "" }, "audit record"},
		{"a record of another outcome", func(d *Decision) { d.Audit[0].Outcome = "perhaps" }, "audit record"},
		{"an event about another message", func(d *Decision) { d.Events[0].Message.Seq++ }, "not about message TASKS:7"},
		{"an action about another subject", func(d *Decision) { d.Action.Subject = "alert x" }, `is about "alert x"`},
		{"an action of an operation with a long id", func(d *Decision) { d.Action.Operation = long }, "has no proper id"},
		{"an effect without a queue", func(d *Decision) { d.Effects[0].Queue = "" }, "no proper id or queue"},
		{"no subject", func(d *Decision) { *d = Decision{ID: "d", At: when, Change: Change{Audit: d.Audit}} }, "subject is missing"},
		{"a long subject", func(d *Decision) {
			*d = Decision{ID: "d", Subject: Subject(long), At: when, Change: Change{Audit: d.Audit}}
		}, "subject is missing or too long"},
	}
	for _, tt := range tests {
		d := whole()
		tt.change(&d)
		if err := d.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one error about %q", tt.name, err, tt.want)
		}
	}
}

// What a decision lacks is said at once, all of it.
func TestEverythingThatADecisionLacksIsSaid(t *testing.T) {
	t.Parallel()
	err := Decision{}.Validate()
	for _, want := range []string{"id is", "subject is", "time is", "audit record is"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say that the %s missing", err, want)
		}
	}
}

func TestASettlementNamesAnEndAndItsSubject(t *testing.T) {
	t.Parallel()
	whole := Settlement{Effect: "e", Token: 1, Status: StatusDone, At: when}
	if err := whole.Validate(About(about)); err != nil {
		t.Errorf("a whole settlement: %v", err)
	}
	open, timeless, other := whole, whole, whole
	open.Status, timeless.At, other.Events = StatusWaiting, 0, []lifecycle.Event{{Kind: lifecycle.Triaged}}
	for want, s := range map[string]Settlement{"is no end": open, "time is missing": timeless, "not about message TASKS:7": other} {
		if err := s.Validate(About(about)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", s, err, want)
		}
	}
}

func TestAClaimOfOneEffectSaysWhoHandedItOver(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		effect    string
		after     uint64
		unclaimed bool
		want      bool
	}{
		{"whatever is due", "", 0, false, true},
		{"handed over by the holder of a claim", "e", 3, false, true},
		{"only while nobody has claimed it", "e", 0, true, true},
		{"handed over by nobody", "e", 0, false, false},
		{"handed over, and claimed by nobody", "e", 3, true, false},
		{"a claim of no effect", "", 3, false, false},
		{"no effect that nobody has claimed", "", 0, true, false},
	}
	for _, tt := range tests {
		r := ClaimRequest{Queue: "retry", Holder: "relay", Now: when, Lease: time.Second, Limit: 1, Effect: tt.effect, After: tt.after, Unclaimed: tt.unclaimed}
		if err := r.Validate(); (err == nil) != tt.want {
			t.Errorf("%s: %v, want it to pass: %t", tt.name, err, tt.want)
		}
	}
	for i, change := range []func(*ClaimRequest){
		func(r *ClaimRequest) { r.Queue = "" }, func(r *ClaimRequest) { r.Holder = "" }, func(r *ClaimRequest) { r.Now = 0 },
		func(r *ClaimRequest) { r.Lease = 0 }, func(r *ClaimRequest) { r.Limit = 0 },
	} {
		r := ClaimRequest{Queue: "retry", Holder: "relay", Now: when, Lease: time.Second, Limit: 1}
		change(&r)
		if r.Validate() == nil {
			t.Errorf("request %d passes: %+v", i, r)
		}
	}
}

func TestAReservationEndsAfterItBegins(t *testing.T) {
	t.Parallel()
	whole := KeyRequest{Key: "k", Fingerprint: "f", Now: when, Until: when + 1}
	if err := whole.Validate(); err != nil {
		t.Errorf("a whole reservation: %v", err)
	}
	for i, change := range []func(*KeyRequest){
		func(r *KeyRequest) { r.Key = "" }, func(r *KeyRequest) { r.Key = strings.Repeat("x", maxSubject+1) }, func(r *KeyRequest) { r.Fingerprint = "" },
		func(r *KeyRequest) { r.Now = 0 }, func(r *KeyRequest) { r.Until = when },
	} {
		r := whole
		change(&r)
		if r.Validate() == nil {
			t.Errorf("reservation %d passes: %+v", i, r)
		}
	}
}

// What a key finds depends on what stands under it, and on whether whoever reserved it may still run.
func TestAKeyAnswersByWhatStandsUnderIt(t *testing.T) {
	t.Parallel()
	request := KeyRequest{Key: "k", Fingerprint: "f", Now: when, Until: when + 10}
	tests := []struct {
		name string
		kept *KeptKey
		want KeyState
	}{
		{"nothing", nil, KeyState{Status: KeyReserved, Token: 1}},
		{"another request", &KeptKey{Fingerprint: "other", Token: 1}, KeyState{Status: KeyReused}},
		{"a reply", &KeptKey{Fingerprint: "f", Token: 2, Reply: []byte("ok")}, KeyState{Status: KeyCompleted, Reply: []byte("ok")}},
		{"a call that runs", &KeptKey{Fingerprint: "f", Token: 2, Until: when + 1}, KeyState{Status: KeyRunning}},
		{"a call that died", &KeptKey{Fingerprint: "f", Token: 2, Until: when}, KeyState{Status: KeyReserved, Token: 3}},
	}
	for _, tt := range tests {
		if got := tt.kept.Answer(request); got.Status != tt.want.Status || got.Token != tt.want.Token || string(got.Reply) != string(tt.want.Reply) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
	if _, err := (&KeptKey{Token: 3, Until: when}).CheckHolder(2); !errors.Is(err, ErrTakenOver) {
		t.Errorf("an older token: %v, want ErrTakenOver", err)
	}
	if completed, err := (&KeptKey{Token: 3}).CheckHolder(3); err != nil || !completed {
		t.Errorf("what was completed: %t, %v", completed, err)
	}
}

func TestStepsAreToldBeforeAndAfter(t *testing.T) {
	t.Parallel()
	var told []string
	failed := errors.New("failed")
	step := func() error { told = append(told, "the step"); return failed }
	for _, s := range []Steps{nil, func(point string) { told = append(told, point) }} {
		if err := s.Do("claim", step); !errors.Is(err, failed) {
			t.Errorf("Do() = %v, want what the step returned", err)
		}
	}
	if want := []string{"the step", "before claim", "the step", "after claim"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
