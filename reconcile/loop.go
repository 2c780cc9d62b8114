package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"fleetglass/lifecycle"
)

// Run makes what is asked for until ctx is done, and returns nil. What fails says so in its record.
func (r *Runner) Run(ctx context.Context) error {
	r.sweep(ctx, r.cfg.Keep, r.cfg.Alone)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { r.afterStart(ctx) })
	all.Go(func() { r.onSchedule(ctx) })
	all.Go(func() { r.upkeep(ctx) })
	for {
		select {
		case <-ctx.Done():
			return nil
		case id := <-r.queue:
			r.make(ctx, id)
		}
	}
}

// make makes one and stores what came of it, also when ctx ends meanwhile.
func (r *Runner) make(ctx context.Context, id string) {
	r.mu.Lock()
	rec, ours := r.mine[id]
	r.mu.Unlock()
	if !ours {
		return
	}
	rec.Status, rec.StartedAt = StatusRunning, r.cfg.now()
	j := &job{Runner: r, rec: rec}
	j.save(ctx)
	report, err := j.run(ctx)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err != nil {
		if ctx.Err() != nil {
			err = errors.New("the program stopped before it was done")
		}
		r.fail(end, j.rec, err)
		return
	}
	r.done(end, j.rec, report)
}

// lastWords is how long the record of how one ended may take to store.
const lastWords = 10 * time.Second

func (r *Runner) done(ctx context.Context, rec Run, report *Report) {
	rec.Status, rec.Report, rec.EndedAt = StatusDone, report, r.cfg.now()
	rec.UpdatedAt, rec.Progress.Phase = rec.EndedAt, ""
	if err := r.store(ctx, rec); err != nil {
		r.fail(ctx, rec, fmt.Errorf("store the report: %w", err))
		return
	}
	r.cfg.Logger.Info("reconciled", "id", rec.ID, "cause", rec.Cause, "published", report.Total.Published, "unexplained", report.Total.Unexplained,
		"discrepancies", report.Discrepancies())
	if _, err := r.cfg.Store.RetainReconciliations(ctx, r.cfg.Keep); err != nil {
		r.cfg.Logger.Warn("old reconciliations could not be deleted", "error", err)
	}
}

// fail stores that one failed. Where even that cannot be stored, a later sweep says it.
func (r *Runner) fail(ctx context.Context, rec Run, why error) {
	rec.Status, rec.Report, rec.Failure, rec.EndedAt = StatusFailed, nil, why.Error(), r.cfg.now()
	rec.UpdatedAt, rec.Progress.Phase = rec.EndedAt, ""
	r.cfg.Logger.Warn("reconciliation failed", "id", rec.ID, "cause", rec.Cause, "error", why)
	if err := r.store(ctx, rec); err != nil {
		r.note(rec)
		r.cfg.Logger.Warn("the failure of a reconciliation could not be stored", "id", rec.ID, "error", err)
	}
}

// upkeep shows that we live, and ends what others left behind.
func (r *Runner) upkeep(ctx context.Context) {
	for turn := 1; sleep(ctx, aliveEvery); turn++ {
		r.mu.Lock()
		mine := make([]string, 0, len(r.mine))
		for id := range r.mine {
			mine = append(mine, id)
		}
		r.mu.Unlock()
		for _, id := range mine {
			r.touch(ctx, id)
		}
		if turn%sweepEvery == 0 {
			r.sweep(ctx, pageOfReports, false)
		}
	}
}

// touch shows that one of ours still waits, if it does.
func (r *Runner) touch(ctx context.Context, id string) {
	r.storing.Lock()
	defer r.storing.Unlock()
	r.mu.Lock()
	rec, ours := r.mine[id]
	r.mu.Unlock()
	if !ours || rec.Status != StatusQueued {
		return
	}
	rec.UpdatedAt = r.cfg.now()
	if err := r.cfg.Store.SaveReconciliation(ctx, rec); err != nil && ctx.Err() == nil {
		r.cfg.Logger.Warn("a waiting reconciliation could not be stored", "id", id, "error", err)
	}
}

// store stores how one is now, and remembers it.
func (r *Runner) store(ctx context.Context, rec Run) error {
	r.storing.Lock()
	defer r.storing.Unlock()
	if err := r.cfg.Store.SaveReconciliation(ctx, rec); err != nil {
		return err
	}
	r.note(rec)
	return nil
}

// sweepEvery is after how many signs of life of ours the others' are looked at.
const sweepEvery = 6

// sweep ends unfinished ones among the newest whose owner is gone: all that are not ours when nobody else can own them.
func (r *Runner) sweep(ctx context.Context, newest int, alone bool) {
	now := r.cfg.now()
	list, err := r.cfg.Store.Reconciliations(ctx, "", newest)
	if err != nil {
		if ctx.Err() == nil {
			r.cfg.Logger.Warn("unfinished reconciliations could not be looked for", "error", err)
		}
		return
	}
	for _, rec := range list {
		dead := alone || rec.UpdatedAt.Add(deadAfter) < now
		if rec.Owner != r.owner && !rec.Status.Ended() && dead {
			r.giveUp(ctx, rec)
		}
	}
}

// giveUp ends one that another program left, unless that one shows itself after all.
func (r *Runner) giveUp(ctx context.Context, seen Run) {
	rec, err := r.cfg.Store.Reconciliation(ctx, seen.ID)
	if err != nil || rec.Status.Ended() || rec.UpdatedAt != seen.UpdatedAt {
		return
	}
	r.fail(ctx, rec, errors.New("the program that made it stopped before it was done"))
}

// afterStart asks for the report that follows a restart, unless nothing is known yet.
func (r *Runner) afterStart(ctx context.Context) {
	if !sleep(ctx, r.cfg.RestartDelay) || !r.worthwhile(ctx) {
		return
	}
	now := r.cfg.now()
	r.byItself(ctx, Run{
		Slot: "restart:" + r.owner, Cause: CauseRestart, Period: Period{From: now.Add(-usualSpan), To: now},
	})
}

// onSchedule asks for the report of each set time, those that passed while nothing ran included: as one.
func (r *Runner) onSchedule(ctx context.Context) {
	if r.cfg.Every == 0 || !sleep(ctx, r.cfg.RestartDelay) {
		return
	}
	for {
		now := r.cfg.now()
		slot := now.Truncate(r.cfg.Every)
		if r.worthwhile(ctx) {
			r.byItself(ctx, Run{
				Slot: "scheduled:" + strconv.FormatInt(int64(slot), 10), Cause: CauseScheduled,
				Period: Period{From: r.lastScheduled(ctx), To: now},
			})
		}
		if !sleep(ctx, slot.Add(r.cfg.Every).Sub(now)) {
			return
		}
	}
}

// lastScheduled is where the last scheduled report ended; one microsecond after the beginning of time when there is none.
func (r *Runner) lastScheduled(ctx context.Context) lifecycle.Micros {
	last, err := r.newest(ctx, func(rec Run) bool {
		return rec.Status == StatusDone && rec.Cause == CauseScheduled && rec.Report != nil
	})
	if err != nil {
		return 1
	}
	return last.Report.Period.To
}

// worthwhile reports whether the store knows of any message.
func (r *Runner) worthwhile(ctx context.Context) bool {
	streams, err := r.cfg.Store.MessageStreams(ctx)
	return err != nil || len(streams) > 0
}

func (r *Runner) byItself(ctx context.Context, rec Run) {
	if _, _, err := r.enqueue(ctx, rec); err != nil && ctx.Err() == nil {
		r.cfg.Logger.Warn("a reconciliation could not be begun", "cause", rec.Cause, "error", err)
	}
}
