package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fleetglass/internal/health"
	"fleetglass/lifecycle"
)

// job is one reconciliation that is being made.
type job struct {
	*Runner
	rec    Run
	saved  lifecycle.Micros
	notes  []string
	asOf   lifecycle.Micros
	period Period           // What can be judged of the period that was asked for.
	kept   lifecycle.Micros // What was stored since is in the store, unless it was never seen.
	check  recordCheck
}

func (j *job) run(ctx context.Context) (*Report, error) {
	j.catchUp(ctx)
	stocks := j.takeStock(ctx)
	if err := j.bound(ctx, stocks); err != nil {
		return nil, err
	}
	streams, err := j.spans(ctx, stocks)
	if err != nil {
		return nil, err
	}
	gaps, err := j.gaps(ctx)
	if err != nil {
		return nil, err
	}
	audit := NewAudit(AuditConfig{
		AsOf: j.asOf, Grace: j.cfg.Grace, Period: j.period, Streams: streams, Blind: from(gaps, j.cfg.AnswerSources), Deaf: from(gaps, j.cfg.ReportSources), Deleted: j.kept,
	})
	j.check.begin(ctx, j)
	for _, s := range streams {
		if err := j.messages(ctx, audit, s); err != nil {
			return nil, err
		}
	}
	if err := j.withoutMessage(ctx, audit); err != nil {
		return nil, err
	}
	if err := j.stillKept(ctx); err != nil {
		return nil, err
	}
	report := audit.Report()
	report.Gaps, report.Notes, report.Records = gaps[:min(len(gaps), maxGaps)], j.notes, j.check.result()
	if len(gaps) > maxGaps {
		report.Notes = append(report.Notes, fmt.Sprintf("Only the latest %d gaps of the period are listed.", maxGaps))
	}
	return &report, nil
}

const (
	maxGaps   = 100
	saveEvery = 2 * time.Second
)

func (j *job) remark(format string, args ...any) {
	j.notes = append(j.notes, fmt.Sprintf(format, args...))
}

// phase says what is being done.
func (j *job) phase(ctx context.Context, text string) {
	j.rec.Progress.Phase = text
	j.save(ctx)
}

// save stores how far it is, and shows that its owner lives. A store that is busy is not worth failing for.
func (j *job) save(ctx context.Context) {
	j.rec.UpdatedAt = j.cfg.now()
	j.saved = j.rec.UpdatedAt
	j.note(j.rec)
	if err := j.store(ctx, j.rec); err != nil && ctx.Err() == nil {
		j.cfg.Logger.Warn("the progress of a reconciliation could not be stored", "id", j.rec.ID, "error", err)
	}
}

func (j *job) progress(ctx context.Context, read int) {
	j.rec.Progress.Read += int64(read)
	j.rec.Progress.Total = max(j.rec.Progress.Total, j.rec.Progress.Read)
	j.note(j.rec)
	if j.cfg.now() >= j.saved.Add(saveEvery) {
		j.save(ctx)
	}
}

// catchUp waits until the collectors have read what lies before them, at most as long as patience lasts.
func (j *job) catchUp(ctx context.Context) {
	if j.cfg.Health == nil {
		return
	}
	j.phase(ctx, "waiting until the collectors have caught up")
	end := j.cfg.now().Add(j.cfg.Patience)
	for {
		behind := lagging(j.cfg.Health.Health())
		if len(behind) == 0 {
			return
		}
		if j.cfg.now() >= end || !sleep(ctx, catchUpPause) {
			j.remark("Not all sources had caught up when the report was made: %s. It did not wait longer than %s.", strings.Join(behind, ", "), j.cfg.Patience)
			return
		}
		if j.cfg.now() >= j.saved.Add(saveEvery) {
			j.save(ctx)
		}
	}
}

const catchUpPause = 200 * time.Millisecond

// lagging names the collectors that may not have read everything.
func lagging(parts []health.Part) (names []string) {
	for _, p := range parts {
		if p.Kind == "collector" && (p.State == health.Behind || p.State == health.Starting || p.State == health.Down) {
			names = append(names, fmt.Sprintf("%s is %s", p.Name, p.State))
		}
	}
	return names
}

// takeStock asks what the streams hold. A broker that does not answer restricts the report and does not prevent it.
func (j *job) takeStock(ctx context.Context) []Stock {
	if j.cfg.Stock == nil {
		j.remark("No broker is known: what the streams hold now was not compared.")
		return nil
	}
	j.phase(ctx, "asking what the streams hold")
	patient, cancel := context.WithTimeout(ctx, max(j.cfg.Patience, time.Second))
	defer cancel()
	stop := j.aliveMeanwhile(patient)
	stocks, err := j.cfg.Stock(patient)
	stop()
	if err != nil {
		j.remark("What the streams hold now was not compared: %v.", err)
		return nil
	}
	return stocks
}

// aliveMeanwhile shows that we live during something that takes long.
func (j *job) aliveMeanwhile(ctx context.Context) (stop func()) {
	inner, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sleep(inner, aliveEvery) {
			j.save(inner)
		}
	}()
	return func() { cancel(); <-done }
}

// bound finds what can be judged of the period: not what may have been deleted, and not what capture may still be bringing.
func (j *job) bound(ctx context.Context, stocks []Stock) error {
	j.asOf = j.cfg.now()
	for i, s := range stocks {
		if j.asOf = min(j.asOf, s.At); i == 0 {
			j.asOf = s.At
		}
	}
	var err error
	if j.kept, err = j.retained(ctx); err != nil {
		return err
	}
	asked := j.rec.Period
	j.period = Period{From: max(asked.From, j.kept), To: min(asked.To, j.asOf.Add(-j.cfg.Grace))}
	if j.rec.Asked.From.Known() && j.period.From > asked.From {
		j.remark("What was stored before %s may have been deleted already: the report begins there.", stamp(j.period.From))
	}
	if j.period.To < asked.To && asked.To <= j.asOf {
		j.remark("The report ends %s before it was made: what is younger may not have been captured yet.", lifecycle.Lasting(j.cfg.Grace))
	}
	if j.period.To < j.period.From {
		j.period.To = j.period.From
		j.remark("Nothing of the period can be judged yet.")
	}
	return nil
}

func stamp(at lifecycle.Micros) string { return at.Time().Format(time.RFC3339) }

// retained is the time before which the store may have deleted messages, or may do so while the report is being made.
func (j *job) retained(ctx context.Context) (lifecycle.Micros, error) {
	text, err := j.cfg.Store.Watermark(ctx, lifecycle.WatermarkRetained)
	if err != nil {
		return 0, fmt.Errorf("read what was deleted: %w", err)
	}
	kept := lifecycle.Retained(text)
	if j.cfg.Retention > 0 {
		kept = max(kept, j.asOf.Add(-j.cfg.Retention+min(j.cfg.Retention/10, 2*time.Hour)))
	}
	return kept, nil
}

// stillKept says so when messages of the period were deleted meanwhile.
func (j *job) stillKept(ctx context.Context) error {
	text, err := j.cfg.Store.Watermark(ctx, lifecycle.WatermarkRetained)
	if err != nil {
		return fmt.Errorf("read what was deleted: %w", err)
	}
	if deleted := lifecycle.Retained(text); deleted > j.period.From {
		j.remark("Messages stored before %s were deleted while the report was made: what is missing there may not be lost.", stamp(deleted))
	}
	return nil
}

// gaps are the spans of the period in which we may have been blind, latest first.
func (j *job) gaps(ctx context.Context) ([]lifecycle.Gap, error) {
	all, err := j.cfg.Store.Gaps(ctx, j.period.From, max(j.asOf, j.period.To), 10_000)
	if err != nil {
		return nil, fmt.Errorf("read gaps: %w", err)
	}
	return slices.DeleteFunc(all, func(g lifecycle.Gap) bool { return g.Repaired }), nil
}

// from are the gaps of some sources, and those that concern one stream alone; all where no source is named.
func from(gaps []lifecycle.Gap, sources []string) []lifecycle.Gap {
	if len(sources) == 0 {
		return gaps
	}
	return slices.DeleteFunc(slices.Clone(gaps), func(g lifecycle.Gap) bool { return g.Everywhere() && !slices.Contains(sources, g.Source) })
}
