package query

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
)

// slowStore answers a search when it is told to, and everything else at once.
type slowStore struct {
	Store
	began, answer chan struct{}
}

func (s slowStore) ListTasks(_ context.Context, f lifecycle.Filter, _ lifecycle.Page) (lifecycle.TaskPage, error) {
	if f.Scans() {
		s.began <- struct{}{}
		<-s.answer
	}
	return lifecycle.TaskPage{}, nil
}

func TestAHeavyQuestionWaitsAndAPlainOneDoesNot(t *testing.T) {
	t.Parallel()
	slow := slowStore{began: make(chan struct{}, 100), answer: make(chan struct{})}
	s := gatedStore{slow, newGate(1)}
	heavy := lifecycle.Filter{Words: []string{"x"}}
	results := make(chan error, 100)
	search := func(ctx context.Context) {
		_, err := s.ListTasks(ctx, heavy, lifecycle.Page{Limit: 1})
		results <- err
	}
	go search(t.Context())
	<-slow.began
	if _, err := s.ListTasks(t.Context(), lifecycle.Filter{Agents: []string{"cto"}}, lifecycle.Page{Limit: 1}); err != nil {
		t.Errorf("a plain question beside a heavy one: %v", err)
	}
	impatient, leave := context.WithCancel(t.Context())
	leave()
	if search(impatient); !errors.Is(<-results, context.Canceled) {
		t.Error("who leaves still waits")
	}
	for range queueFor {
		go search(t.Context())
	}
	testkit.Eventually(t, 10*time.Second, func() error {
		if n := len(s.gate.all); n < cap(s.gate.all) {
			return fmt.Errorf("%d wait", n)
		}
		return nil
	})
	if search(t.Context()); !errors.Is(<-results, lifecycle.ErrCrowded) {
		t.Error("the queue has no end")
	}
	if n := len(slow.began); n != 0 {
		t.Errorf("%d more run beside the first", n)
	}
	close(slow.answer)
	for range 1 + queueFor {
		if err := <-results; err != nil {
			t.Errorf("one that waited: %v", err)
		}
	}
}
