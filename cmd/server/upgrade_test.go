package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"fleetglass/lifecycle"
)

// slowUpgrade takes a second for each of its steps, and fails in the second one.
type slowUpgrade struct {
	steps int
	seen  func() string
	said  []string
}

func (s *slowUpgrade) Upgrade(context.Context, int) (lifecycle.UpgradeProgress, error) {
	s.said = append(s.said, s.seen())
	time.Sleep(time.Second)
	if s.steps++; s.steps == 2 {
		return lifecycle.UpgradeProgress{}, errors.New("busy")
	}
	p := lifecycle.UpgradeProgress{From: 1, To: 2, Judged: int64(100 * s.steps), Percent: 20 * s.steps}
	if s.steps == 5 {
		p.From = 2
	}
	return p, nil
}

func TestTasksAreJudgedAnewInTheBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := &slowUpgrade{}
		u := &upgrade{store: s, now: time.Now, log: slog.New(slog.NewTextHandler(&log, nil))}
		s.seen = u.Detail
		begin := time.Now()
		if err := u.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != 5*time.Second+upgradeRetry+3*time.Second {
			t.Errorf("took %s, want a pause after each step as long as the step, and %s after the failure", took, upgradeRetry)
		}
		want := "tasks are judged anew, because the rules changed from version 1 to 2: 100 tasks, 20 %"
		if len(s.said) != 5 || s.said[0] != "" || s.said[1] != want || s.said[2] != want {
			t.Errorf("said %q, want nothing first, then %q", s.said, want)
		}
		if d := u.Detail(); d != "" {
			t.Errorf("detail at the end: %q, want none", d)
		}
		for _, line := range []string{"the rules changed", "could not be judged anew", "all tasks are judged by the new rules"} {
			if strings.Count(log.String(), line) != 1 {
				t.Errorf("log says %q not once:\n%s", line, log.String())
			}
		}
	})
}

func TestNothingIsSaidWhereNothingIsToBeJudged(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	u := &upgrade{store: doneUpgrade{}, now: time.Now, log: slog.New(slog.NewTextHandler(&log, nil))}
	if err := u.Run(t.Context()); err != nil || u.Detail() != "" || log.String() != "" {
		t.Errorf("run: %v, detail %q, log %q; want nothing", err, u.Detail(), log.String())
	}
}

type doneUpgrade struct{}

func (doneUpgrade) Upgrade(context.Context, int) (lifecycle.UpgradeProgress, error) {
	return lifecycle.UpgradeProgress{From: 2, To: 2, Percent: 100}, nil
}

func TestTheStoreSaysWhatIsJudgedAnew(t *testing.T) {
	t.Parallel()
	p := &pinger{store: pingable{}, now: time.Now, doing: func() string { return "judging" }}
	if part := p.Health()[0]; part.Detail != "judging" || part.State != "ok" {
		t.Errorf("part %+v, want it ready, with what it does", part)
	}
}

type pingable struct{}

func (pingable) Ping(context.Context) error { return nil }
