package firestoretest

import (
	"context"
	"errors"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/grpc/codes"

	"fleetglass/internal/testkit"
)

func TestAQueryNeedsADeclaredIndex(t *testing.T) {
	t.Parallel()
	c := Start(t, Config{Indexes: []byte(conformanceIndexes)}).Client(t)
	set(t, c.Doc("things/a"), fields{"n": 1, "who": "x"})
	things := c.Collection("things")
	for name, tc := range map[string]struct {
		q    firestore.Query
		want codes.Code
	}{
		"one field":                     {things.Where("m", ">", 0).OrderBy("m", firestore.Desc), codes.OK},
		"equal fields":                  {things.Where("m", "==", 0).Where("l", "==", 1), codes.OK},
		"declared composite":            {things.Where("who", "==", "x").OrderBy("n", firestore.Asc), codes.OK},
		"declared composite, backwards": {things.Where("who", "==", "x").OrderBy("n", firestore.Desc), codes.OK},
		"undeclared composite":          {things.Where("who", "==", "x").OrderBy("m", firestore.Asc), codes.FailedPrecondition},
		"two orders":                    {things.OrderBy("n", firestore.Asc).OrderBy("who", firestore.Asc), codes.FailedPrecondition},
		"declared group":                {c.CollectionGroup("log").OrderBy("n", firestore.Asc), codes.OK},
		"group, other direction":        {c.CollectionGroup("log").OrderBy("n", firestore.Desc), codes.FailedPrecondition},
		"group, other field":            {c.CollectionGroup("log").Where("m", "==", 1), codes.FailedPrecondition},
		"group by name":                 {c.CollectionGroup("log").OrderBy(firestore.DocumentID, firestore.Asc), codes.OK},
	} {
		_, err := tc.q.Documents(t.Context()).GetAll()
		t.Log(name)
		wantCode(t, err, tc.want)
		if tc.want != codes.OK {
			_, err := listenTo(t, tc.q).it.Next()
			wantCode(t, err, tc.want)
		}
	}
}

func TestAResumedListenerIsToldOnlyWhatItMissed(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{})
	c := s.Client(t)
	set(t, c.Doc("things/a"), fields{"n": 1})
	set(t, c.Doc("things/b"), fields{"n": 1})
	l := listenTo(t, c.Collection("things").Query)
	l.want("added a", "added b")
	if n := s.BreakListeners(codes.Unavailable); n != 1 {
		t.Fatalf("%d listeners", n)
	}
	set(t, c.Doc("things/c"), fields{"n": 1})
	must[*firestore.WriteResult](t)(c.Doc("things/b").Delete(t.Context()))
	before := s.Reads()
	l.want("removed b", "added c")
	if got := s.Reads() - before; got != 1 {
		t.Errorf("%d documents were read, want 1", got)
	}
}

func TestAListenerDiesOfSomeErrors(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Aborted, codes.PermissionDenied, codes.Canceled, codes.FailedPrecondition, codes.InvalidArgument} {
		s := Start(t, Config{})
		l := listenTo(t, s.Client(t).Collection("things").Query)
		l.want()
		s.BreakListeners(code)
		_, err := l.it.Next()
		wantCode(t, err, code)
	}
}

func TestAnErasedServerRemovesEverything(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{})
	c := s.Client(t)
	set(t, c.Doc("things/a"), fields{"n": 1})
	l := listenTo(t, c.Collection("things").Query)
	l.want("added a")
	s.Erase()
	l.want("removed a")
	set(t, c.Doc("things/b"), fields{"n": 1})
	l.want("added b")
}

func TestAStalledListenerSaysNothingAndOthersWork(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{})
	c := s.Client(t)
	ctx, cancel := context.WithCancel(t.Context())
	it := c.Collection("things").Snapshots(ctx)
	defer it.Stop()
	must[*firestore.QuerySnapshot](t)(it.Next())
	if n := s.StallListeners(); n != 1 || s.Listeners() != 0 {
		t.Fatalf("%d listeners stalled, %d open", n, s.Listeners())
	}
	set(t, c.Doc("things/a"), fields{"n": 1})
	listenTo(t, c.Collection("things").Query).want("added a")
	cancel()
	if _, err := it.Next(); err == nil {
		t.Error("the stalled listener said something")
	}
}

func TestMethodsFailAndHangUntilTheyAreHealed(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{})
	c := s.Client(t)
	s.Fail(Commit, codes.PermissionDenied, 1)
	_, err := c.Doc("things/a").Set(t.Context(), fields{})
	wantCode(t, err, codes.PermissionDenied)
	set(t, c.Doc("things/a"), fields{})

	s.Hang(RunQuery)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Collection("things").Documents(ctx).GetAll(); err == nil {
		t.Error("a hanging query answered")
	}
	done := make(chan error, 1)
	go func() {
		_, err := c.Collection("things").Documents(t.Context()).GetAll()
		done <- err
	}()
	s.Heal()
	testkit.Eventually(t, patience, func() error {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return nil
		default:
			return errors.New("the query still hangs")
		}
	})
}

func TestAnAnswerThatIsLostHasTakenEffect(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{})
	c := s.Client(t)
	s.Lose(Commit, codes.Internal, 1)
	_, err := c.Doc("things/a").Create(t.Context(), fields{"n": 1})
	wantCode(t, err, codes.Internal)
	_, err = c.Doc("things/a").Create(t.Context(), fields{"n": 2})
	wantCode(t, err, codes.AlreadyExists)
	if got := get(t, c.Doc("things/a")).Data()["n"]; got != int64(1) {
		t.Errorf("n = %v, want what was written when the answer was lost", got)
	}
}

func TestTimesFollowTheServersClock(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{Now: func() time.Time { return time.Now().Add(-time.Hour) }})
	c := s.Client(t)
	set(t, c.Doc("things/a"), fields{})
	doc := get(t, c.Doc("things/a"))
	for _, at := range []time.Time{doc.CreateTime, doc.UpdateTime, doc.ReadTime} {
		if d := time.Since(at); d < time.Hour || d > time.Hour+time.Minute {
			t.Errorf("%v is %v ago, want an hour", at, d)
		}
	}
}
