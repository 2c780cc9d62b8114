package query

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
	s := gatedStore{slow, newGate(1, nil)}
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
		s.gate.mu.Lock()
		defer s.gate.mu.Unlock()
		if n := len(s.gate.waiting); n < queueFor {
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

type askerKey struct{}

func asker(ctx context.Context) string {
	who, _ := ctx.Value(askerKey{}).(string)
	return who
}

// crowd is a gate of one, with what asks to pass it.
type crowd struct {
	t    *testing.T
	gate *gate
	in   chan string // Who is let in, in order.
	out  chan struct{}
	left chan error // Who is turned away.
}

func newCrowd(t *testing.T) *crowd {
	return &crowd{t: t, gate: newGate(1, asker), in: make(chan string, 1000), out: make(chan struct{}), left: make(chan error, 1000)}
}

// ask asks, and waits until the gate knows of it.
func (c *crowd) ask(who string, waiting int) {
	c.t.Helper()
	go func() {
		leave, err := c.gate.enter(context.WithValue(context.Background(), askerKey{}, who))
		if err != nil {
			c.left <- fmt.Errorf("%s: %w", who, err)
			return
		}
		c.in <- who
		<-c.out
		leave()
	}()
	testkit.Eventually(c.t, 10*time.Second, func() error {
		c.gate.mu.Lock()
		defer c.gate.mu.Unlock()
		if n := len(c.gate.waiting); n != waiting {
			return fmt.Errorf("%d wait, want %d", n, waiting)
		}
		return nil
	})
}

// order lets n pass and returns who they were.
func (c *crowd) order(n int) string {
	out := ""
	for range n {
		out += <-c.in
		c.out <- struct{}{}
	}
	return out
}

func TestWhoSearchesMuchDelaysNobodyElseByMoreThanWhatRuns(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.ask("a", 0)
	for n := range 20 {
		c.ask("a", n+1)
	}
	c.ask("b", 21)
	c.ask("b", 22)
	c.ask("c", 23)
	if got, want := c.order(24), "abcab"+strings.Repeat("a", 19); got != want {
		t.Errorf("let in: %s, want %s", got, want)
	}
	testkit.Eventually(t, 10*time.Second, func() error {
		c.gate.mu.Lock()
		defer c.gate.mu.Unlock()
		if c.gate.runs != 0 || len(c.gate.running) != 0 || len(c.gate.turns) != 0 {
			return fmt.Errorf("the gate keeps %d, %v, %v", c.gate.runs, c.gate.running, c.gate.turns)
		}
		return nil
	})
}

func TestWhoFillsTheQueueGivesWay(t *testing.T) {
	t.Parallel()
	c := newCrowd(t)
	c.ask("a", 0)
	for n := range queueFor {
		c.ask("a", n+1)
	}
	c.ask("a", queueFor)
	if err := <-c.left; !errors.Is(err, lifecycle.ErrCrowded) {
		t.Errorf("one too many: %v", err)
	}
	for range queueFor / 2 {
		c.ask("b", queueFor)
		if err := <-c.left; !errors.Is(err, lifecycle.ErrCrowded) || err.Error()[0] != 'a' {
			t.Errorf("turned away: %v", err)
		}
	}
	c.ask("b", queueFor) // Now both have the same.
	if err := <-c.left; err.Error()[0] != 'b' {
		t.Errorf("turned away: %v", err)
	}
	if got := c.order(1 + queueFor); strings.Count(got, "b") != queueFor/2 || got[:5] != "ababa" {
		t.Errorf("let in: %s", got)
	}
}

func TestWhoLeavesTheQueueIsForgotten(t *testing.T) {
	t.Parallel()
	g := newGate(1, asker)
	leave, err := g.enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 { // Whichever comes first, being let in or leaving, the place is free afterwards.
		ctx, end := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			if leave, err := g.enter(ctx); err == nil {
				leave()
			}
			close(done)
		}()
		go end()
		go leave()
		<-done
		if leave, err = g.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	if g.runs != 0 || len(g.waiting) != 0 {
		t.Errorf("%d run, %d wait", g.runs, len(g.waiting))
	}
}
