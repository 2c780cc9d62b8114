package firestorekit_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"fleetglass/fleet"
	"fleetglass/fleet/firestorekit"
	"fleetglass/internal/firestoretest"
	"fleetglass/lifecycle"
)

type fields = map[string]any

func set(t *testing.T, ref *firestore.DocumentRef, f fields) {
	t.Helper()
	if _, err := ref.Set(t.Context(), f); err != nil {
		t.Fatal(err)
	}
}

func data(t *testing.T, ref *firestore.DocumentRef) fields {
	t.Helper()
	doc, err := ref.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return doc.Data()
}

func TestARecordIsWrittenInTheFormOfTheContract(t *testing.T) {
	t.Parallel()
	c := firestoretest.Start(t, firestoretest.Config{}).Client(t)
	at := lifecycle.Micros(1_763_650_000_123_456)
	r := fleet.Record{
		TaskID: "t-1", AgentID: "cto", CompletedAt: at, ResultSummary: "merged", NatsStreamSeq: 7, ExpiresAt: at.Add(72 * time.Hour), PayloadHash: "aa",
	}
	if err := records(t, c).Complete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got := data(t, c.Doc("task-idempotency/t-1"))
	deleteAt, _ := got["deleteAt"].(time.Time)
	if delete(got, "deleteAt"); !deleteAt.Equal(at.Truncate(time.Millisecond).Add(72 * time.Hour).Time()) {
		t.Errorf("to be deleted at %v", deleteAt)
	}
	want := fields{
		"taskId": "t-1", "agentId": "cto", "completedAt": int64(1_763_650_000_123), "resultSummary": "merged", "natsStreamSeq": int64(7),
		"expiresAt": int64(1_763_650_000_123 + 72*3_600_000), "payloadHash": "aa",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestARecordThatItWroteItselfIsNoOthers(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t, firestoretest.Config{})
	r := records(t, server.Client(t))
	for _, code := range passing {
		one, other := completion("done"), completion("another")
		one.TaskID, other.TaskID = code.String(), code.String()
		server.Lose(firestoretest.Commit, code, 1)
		if err := r.Complete(t.Context(), one); err != nil {
			t.Errorf("%s: %v", code, err)
		}
		if err := r.Complete(t.Context(), other); !errors.Is(err, fleet.ErrRecorded) {
			t.Errorf("%s: recorded another: %v", code, err)
		}
	}
	if err := r.Complete(t.Context(), fleet.Record{TaskID: "t-2", ResultSummary: "x"}); err == nil {
		t.Error("recorded a completion without a time")
	}
}

func TestWhatOtherMakesOfAgentsWriteIsRead(t *testing.T) {
	t.Parallel()
	c := firestoretest.Start(t, firestoretest.Config{}).Client(t)
	at := time.UnixMilli(1_763_650_000_123)
	for name, tc := range map[string]struct {
		fields    fields
		completed bool
		at        lifecycle.Micros // Zero: when the document was created.
	}{
		"reserved":       {fields{"taskId": "reserved", "status": "in_flight", "owner": "x"}, false, 0},
		"null":           {fields{"taskId": "null", "completedAt": nil}, false, 0},
		"zero":           {fields{"taskId": "zero", "completedAt": 0}, false, 0},
		"number":         {fields{"taskId": "number", "completedAt": at.UnixMilli()}, true, lifecycle.MicrosOf(at)},
		"real":           {fields{"taskId": "real", "completedAt": float64(at.UnixMilli())}, true, lifecycle.MicrosOf(at)},
		"timestamp":      {fields{"taskId": "timestamp", "completedAt": at}, true, lifecycle.MicrosOf(at)},
		"text":           {fields{"completedAt": at.Format(time.RFC3339Nano)}, true, lifecycle.MicrosOf(at)},
		"result only":    {fields{"resultSummary": "merged"}, true, 0},
		"status only":    {fields{"status": "Completed"}, true, 0},
		"list for texts": {fields{"completedAt": at.UnixMilli(), "agentId": []string{"x"}, "resultSummary": fields{"a": 1}}, true, lifecycle.MicrosOf(at)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ref := c.Collection("task-idempotency").Doc(name)
			set(t, ref, tc.fields)
			doc, err := ref.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !tc.at.Known() {
				tc.at = lifecycle.MicrosOf(doc.CreateTime)
			}
			r, k := records(t, c), reservations(t, c)
			found, err := r.Find(t.Context(), name, "")
			if err != nil || (found != nil) != tc.completed || (found != nil && (found.CompletedAt != tc.at || found.TaskID != name)) {
				t.Errorf("found %+v, %v", found, err)
			}
			held, done, err := k.Reserve(t.Context(), fleet.Claim{TaskID: name, Owner: "cto/1", Lease: time.Minute})
			if err != nil || (done != nil) != tc.completed {
				t.Errorf("reserved %+v, %+v, %v", held, done, err)
			}
			own := completion("done")
			own.TaskID = name
			if tc.completed {
				err = r.Complete(t.Context(), own)
				if !errors.Is(err, fleet.ErrRecorded) {
					t.Errorf("completed: %v", err)
				}
				return
			}
			if stored, err := k.Confirm(t.Context(), held, own); err != nil || stored != own {
				t.Errorf("confirmed %+v, %v; want %+v", stored, err, own)
			}
		})
	}
}

func TestACompletionReplacesWhatStatesNone(t *testing.T) {
	t.Parallel()
	c := firestoretest.Start(t, firestoretest.Config{}).Client(t)
	r := records(t, c)
	set(t, c.Doc("task-idempotency/t-1"), fields{"taskId": "t-1", "status": "in_flight"})
	var mu sync.Mutex
	var first []fleet.Record
	var all sync.WaitGroup
	for i := range 10 {
		own := completion(fmt.Sprint("attempt ", i))
		all.Go(func() {
			err := r.Complete(t.Context(), own)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				first = append(first, own)
			} else if !errors.Is(err, fleet.ErrRecorded) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(first) != 1 {
		t.Fatalf("%d were the first", len(first))
	}
	if got, err := r.Find(t.Context(), "t-1", ""); err != nil || got == nil || *got != first[0] {
		t.Errorf("found %+v, %v; want %+v", got, err, first[0])
	}
}

func TestARecordThatSomebodyDeletedIsWrittenAgain(t *testing.T) {
	t.Parallel()
	c := firestoretest.Start(t, firestoretest.Config{}).Client(t)
	k := reservations(t, c)
	held, _, err := k.Reserve(t.Context(), claimOf("first"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := k.Confirm(t.Context(), held, completion("done"))
	if err != nil {
		t.Fatal(err)
	}
	for name, again := range map[string]func() (*fleet.Record, error){
		"the next claim": func() (*fleet.Record, error) {
			_, done, err := k.Reserve(t.Context(), claimOf("second"))
			return done, err
		},
		"the holder": func() (*fleet.Record, error) {
			done, err := k.Confirm(t.Context(), held, completion("again"))
			return &done, err
		},
	} {
		if _, err := c.Doc("task-idempotency/t-1").Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := again(); err != nil || got == nil || *got != want {
			t.Errorf("%s is told %+v, %v; want %+v", name, got, err, want)
		}
		if got, err := records(t, c).Find(t.Context(), "t-1", ""); err != nil || got == nil || *got != want {
			t.Errorf("%s left the record %+v, %v; want %+v", name, got, err, want)
		}
	}
}

func TestAReservationIsForgottenAfterItsRetention(t *testing.T) {
	t.Parallel()
	var now clock
	server := firestoretest.Start(t, firestoretest.Config{Now: now.now})
	c := server.Client(t)
	k, err := firestorekit.NewReservations(firestorekit.Config{Client: c, Retention: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	first, _, err := k.Reserve(t.Context(), claimOf("first"))
	if err != nil {
		t.Fatal(err)
	}
	now.pass(59 * time.Minute)
	other := claimOf("other")
	other.PayloadHash = "bb"
	if _, _, err := k.Reserve(t.Context(), other); !errors.Is(err, fleet.ErrKeyConflict) {
		t.Errorf("reserved for another payload: %v", err)
	}
	now.pass(2 * time.Minute)
	second, _, err := k.Reserve(t.Context(), other)
	if err != nil || second.Token <= first.Token {
		t.Fatalf("reserved %+v, %v after token %d", second, err, first.Token)
	}
	done := completion("done")
	done.ExpiresAt = lifecycle.MicrosOf(now.now().Add(2 * time.Hour))
	if _, err := k.Confirm(t.Context(), second, done); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"task-idempotency/t-1", "task-reservations/t-1"} { // A policy deletes both, one some hours before the other.
		if at := data(t, c.Doc(path))["deleteAt"].(time.Time); at.Sub(done.ExpiresAt.Time()).Abs() > time.Millisecond {
			t.Errorf("%s is to be deleted at %v, want %v", path, at, done.ExpiresAt.Time())
		}
	}
	if _, err := c.Doc("task-idempotency/t-1").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	now.pass(3 * time.Hour)
	third, replied, err := k.Reserve(t.Context(), claimOf("third"))
	if err != nil || replied != nil || third.Token <= second.Token {
		t.Errorf("after both ends: reserved %+v, %+v, %v", third, replied, err)
	}
	if _, err := k.Confirm(t.Context(), second, done); !errors.Is(err, fleet.ErrFenced) {
		t.Errorf("the forgotten holder confirmed: %v", err)
	}
}

func TestWhatATaskCosts(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t, firestoretest.Config{})
	r, k := records(t, server.Client(t)), reservations(t, server.Client(t))
	reads := func(do func() error) int {
		t.Helper()
		before := server.Reads()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		return server.Reads() - before
	}
	find := reads(func() error { _, err := r.Find(t.Context(), "t-1", ""); return err })
	var held fleet.Reservation
	reserve := reads(func() (err error) { held, _, err = k.Reserve(t.Context(), claimOf("first")); return err })
	renew := reads(func() (err error) { held, err = k.Renew(t.Context(), held); return err })
	confirm := reads(func() error { _, err := k.Confirm(t.Context(), held, completion("done")); return err })
	other := completion("done")
	other.TaskID = "t-2"
	complete := reads(func() error { return r.Complete(t.Context(), other) })
	if find != 1 || reserve != 2 || renew != 0 || confirm != 2 || complete != 0 { // As docs/wire-contract.md says.
		t.Errorf("reads: find %d, reserve %d, renew %d, confirm %d, complete %d", find, reserve, renew, confirm, complete)
	}
}

func TestADocumentThatIsNoReservationIsNotTaken(t *testing.T) {
	t.Parallel()
	c := firestoretest.Start(t, firestoretest.Config{}).Client(t)
	set(t, c.Doc("task-reservations/t-1"), fields{"note": "by hand"})
	if held, _, err := reservations(t, c).Reserve(t.Context(), claimOf("first")); err == nil {
		t.Errorf("reserved %+v", held)
	}
}

func TestAnIncompleteConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	_, err1 := firestorekit.NewRecords(firestorekit.Config{})
	_, err2 := firestorekit.NewReservations(firestorekit.Config{})
	_, err3 := firestorekit.NewEffectLog(firestorekit.Config{}, "cto")
	_, err4 := firestorekit.NewEffectLog(firestorekit.Config{Client: firestoretest.Start(t, firestoretest.Config{}).Client(t)}, "a/b")
	for i, err := range []error{err1, err2, err3, err4} {
		if err == nil {
			t.Errorf("part %d was made", i)
		}
	}
}

func TestASideEffectIsLoggedOnce(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t, firestoretest.Config{})
	c := server.Client(t)
	l, err := firestorekit.NewEffectLog(firestorekit.Config{Client: c}, "cto")
	if err != nil {
		t.Fatal(err)
	}
	at := lifecycle.Micros(1_763_650_000_123_000)
	want := firestorekit.Effect{
		Key: "t-1-1", TaskID: "t-1", Action: "git.push", Status: "completed", CompletedAt: at,
		SideEffects: []firestorekit.SideEffect{{Type: "branch", Ref: "fix-7"}, {Type: "pull_request", Ref: "7"}},
	}
	if got, err := l.Find(t.Context(), want.Key); got != nil || err != nil {
		t.Errorf("found %+v, %v before it was logged", got, err)
	}
	server.Fail(firestoretest.Commit, codes.Unavailable, 1)
	if err := l.Log(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	other := want
	other.Action = "git.push --force"
	if err := l.Log(t.Context(), other); !errors.Is(err, fleet.ErrRecorded) {
		t.Errorf("logged twice: %v", err)
	}
	got, err := l.Find(t.Context(), want.Key)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Error(diff)
	}
	stored := fields{
		"key": "t-1-1", "taskId": "t-1", "agent": "cto", "action": "git.push", "status": "completed", "completed_at": int64(at) / 1000,
		"side_effects": []any{fields{"type": "branch", "ref": "fix-7"}, fields{"type": "pull_request", "ref": "7"}},
	}
	if diff := cmp.Diff(stored, data(t, c.Doc("agent-state/cto/idempotency-log/t-1-1"))); diff != "" {
		t.Error(diff)
	}
	set(t, c.Doc("agent-state/cto/idempotency-log/odd"), fields{"action": 7, "completed_at": at.Time(), "side_effects": []any{"x", fields{"type": "page", "slug": "y"}}})
	odd, err := l.Find(t.Context(), "odd")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&firestorekit.Effect{Key: "odd", CompletedAt: at, SideEffects: []firestorekit.SideEffect{{Type: "page", Ref: "y"}}}, odd); diff != "" {
		t.Error(diff)
	}
	if err := l.Log(t.Context(), firestorekit.Effect{Key: "x"}); err == nil {
		t.Error("logged an effect without an action")
	}
}
