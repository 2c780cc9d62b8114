package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"fleetglass/lifecycle"
)

const (
	upgradeTasks = 100             // Tasks that one transaction judges anew.
	upgradeRetry = 5 * time.Second // Pause after a failure.
)

// upgrade judges tasks anew where older rules judged them, while everything else goes on.
type upgrade struct {
	store lifecycle.Upgrader
	now   func() time.Time
	log   *slog.Logger

	mu       sync.Mutex
	progress lifecycle.UpgradeProgress
}

// Run works until nothing is left to do, or ctx is done. A failure is logged and tried again.
func (u *upgrade) Run(ctx context.Context) error {
	for begun := false; ctx.Err() == nil; {
		began := u.now()
		p, err := u.store.Upgrade(ctx, upgradeTasks)
		pause := u.now().Sub(began) // Half of the time belongs to the others.
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			u.log.Error("tasks could not be judged anew", "error", err)
			pause = upgradeRetry
		case p.Done():
			u.note(p)
			if begun {
				u.log.Info("all tasks are judged by the new rules", "version", p.To, "tasks", p.Judged)
			}
			return nil
		case !begun:
			begun = true
			u.log.Info("tasks are judged anew, because the rules changed", "from_version", p.From, "to_version", p.To)
		}
		if err == nil {
			u.note(p)
		}
		wait(ctx, pause)
	}
	return nil
}

func (u *upgrade) note(p lifecycle.UpgradeProgress) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.progress = p
}

// Progress is how far it is.
func (u *upgrade) Progress() lifecycle.UpgradeProgress {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.progress
}

// Detail says how far it is, for operators; empty when nothing is done.
func (u *upgrade) Detail() string {
	if p := u.Progress(); !p.Done() {
		return fmt.Sprintf("tasks are judged anew, because the rules changed from version %d to %d: %d tasks, %d %%", p.From, p.To, p.Judged, p.Percent)
	}
	return ""
}

// wait returns after a pause, or when ctx is done.
func wait(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
