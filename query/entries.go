package query

import (
	"context"
	"errors"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/duplicates"
	"fleetglass/lifecycle"
)

const (
	entriesAge = 500 * time.Millisecond // How long counts and groups of entries are shared.
	fatesAge   = 2 * time.Second        // How long statistics are.

	entryRiskAge = time.Minute // How long the risk of one type and agent is.

	maxEntryEvents  = 2000 // How many events of a task an entry shows.
	maxEntryHistory = 50   // How many actions on an entry are shown.
	maxGroups       = 500
)

// EntryRow is an entry with what should happen with it.
type EntryRow struct {
	dlqtriage.Entry
	Plan dlqtriage.Plan
	Risk *dlqtriage.Risk // That a task of this type and agent dies, now.
	// InQueue says whether its entry is in the broker's queue now; nil where it has none, or that is not known.
	InQueue *bool
	Task    *lifecycle.TaskFacts // What is known of its task, of one that is open; nil where that was not looked at.
}

// EntryList is one page of entries.
type EntryList struct {
	Rows []EntryRow
	Next *dlqtriage.EntryCursor // Where the following page begins; nil at the end.
	Prev *dlqtriage.EntryCursor // Where the page before begins, read backward; nil at the beginning.
}

// EntryDetail is all that is known of an entry.
type EntryDetail struct {
	EntryRow
	Record  lifecycle.TaskRecord
	Payload *lifecycle.Payload     // Nil where no body is kept.
	Diff    []dlqtriage.Difference // What a retry by the plan would change in the body.
	Missing string                 // Why there is no body; empty where there is one.
	Events  []lifecycle.Event      // Of the task, in causal order.
	History []dlqtriage.Operation  // What was done about it, the newest first.
	Gaps    []lifecycle.Gap        // That concern its task.
}

// Entries returns the entries that a filter selects, those that died last first.
func (s *Service) Entries(ctx context.Context, f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) (EntryList, error) {
	page, err := s.cfg.Entries.Entries(ctx, f, p)
	if err != nil {
		return EntryList{}, err
	}
	out := EntryList{Rows: make([]EntryRow, len(page.Entries)), Next: page.Next, Prev: page.Prev}
	for i, e := range page.Entries {
		if out.Rows[i], err = s.planned(ctx, e); err != nil {
			return EntryList{}, err
		}
	}
	return out, nil
}

// EntriesNamed returns the entries with these ids, in no order; one that there is not is left out.
func (s *Service) EntriesNamed(ctx context.Context, ids []string) ([]dlqtriage.Entry, error) {
	out := make([]dlqtriage.Entry, 0, len(ids))
	for _, id := range ids {
		e, err := s.cfg.Entries.Entry(ctx, id)
		if errors.Is(err, lifecycle.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// planned adds the plan to an entry. What else is known of its task is read only where the plan hangs on it.
func (s *Service) planned(ctx context.Context, e dlqtriage.Entry) (EntryRow, error) {
	c, err := s.withTaker(ctx, dlqtriage.CaseOf(e, s.cfg.Looks), e)
	if err != nil {
		return EntryRow{}, err
	}
	row := s.rowOf(e, c)
	if row.Risk, err = s.entryRisk(ctx, e); err != nil {
		return row, err
	}
	if !row.Plan.Eligible {
		if e.Open() {
			row.Task, err = s.taskOf(ctx, e)
		}
		return row, err
	}
	k, err := s.examiner().Examine(ctx, e.ID)
	if errors.Is(err, lifecycle.ErrNotFound) { // It went meanwhile.
		return row, nil
	}
	if err != nil {
		return row, err
	}
	k.Case.Taker, row.Task = c.Taker, &k.Record.Facts
	row.Plan = s.cfg.Policy().PlanFor(k.Case, s.now())
	return row, nil
}

// taskOf is what is known of the task of an entry; nil where nothing is kept of it.
func (s *Service) taskOf(ctx context.Context, e dlqtriage.Entry) (*lifecycle.TaskFacts, error) {
	r, err := s.cfg.Store.Task(ctx, e.TaskID)
	if errors.Is(err, lifecycle.ErrNotFound) {
		return nil, nil
	}
	return &r.Facts, err
}

// rowOf is an entry with the plan of its case. One that nobody has looked at yet says so.
func (s *Service) rowOf(e dlqtriage.Entry, c dlqtriage.Case) EntryRow {
	if c.Unread {
		e.Classification = dlqtriage.NotReadYet()
	}
	return EntryRow{Entry: e, Plan: s.cfg.Policy().PlanFor(c, s.now()), InQueue: s.inQueue(e)}
}

// inQueue says whether the broker's queue holds an entry now; nil where that is not known.
func (s *Service) inQueue(e dlqtriage.Entry) *bool {
	stream, err := lifecycle.ParseStreamID(e.DLQStream)
	if !e.Copied() || err != nil || s.cfg.QueueHolds == nil {
		return nil
	}
	there, looked := s.cfg.QueueHolds(lifecycle.MessageKey{Stream: stream, Seq: e.DLQSeq})
	if !looked {
		return nil
	}
	return &there
}

// entryRisk is how likely a task such as this one is to die, as it was within the last [entryRiskAge].
func (s *Service) entryRisk(ctx context.Context, e dlqtriage.Entry) (*dlqtriage.Risk, error) {
	return ask(ctx, s.cache, "entry risk "+e.Agent+" "+e.Type, entryRiskAge, func(ctx context.Context, now lifecycle.Micros) (*dlqtriage.Risk, error) {
		found, err := s.Risk(ctx, RiskQuestion{Agent: e.Agent, Type: e.Type, At: now})
		return &found.Risk, err
	})
}

func (s *Service) examiner() dlqtriage.Examiner {
	return dlqtriage.Examiner{Entries: s.cfg.Entries, Tasks: s.cfg.Store, Decisions: s.cfg.Entries, Looks: s.cfg.Looks}
}

// Entry returns all that is known of an entry, or an error that wraps [lifecycle.ErrNotFound].
func (s *Service) Entry(ctx context.Context, id string) (EntryDetail, error) {
	k, err := s.examiner().Examine(ctx, id)
	if err != nil {
		return EntryDetail{}, err
	}
	if k.Case, err = s.withTaker(ctx, k.Case, k.Entry); err != nil {
		return EntryDetail{}, err
	}
	out := EntryDetail{EntryRow: s.rowOf(k.Entry, k.Case), Record: k.Record}
	if out.Risk, err = s.entryRisk(ctx, k.Entry); err != nil {
		return out, err
	}
	if out.Payload, out.Missing, err = s.original(ctx, k.Entry); err != nil {
		return out, err
	}
	if out.Payload != nil && !out.Payload.Truncated {
		out.Diff = dlqtriage.PlanDiff(out.Payload.Body, k.Case, out.Plan)
	}
	if out.Events, err = s.cfg.Store.Events(ctx, k.Entry.TaskID, lifecycle.EventPosition{}, maxEntryEvents); err != nil {
		return out, err
	}
	lifecycle.SortCausally(out.Events, k.Record.Messages)
	actions, err := s.cfg.Entries.ActionsOn(ctx, k.Entry.About(), maxEntryHistory)
	if err != nil {
		return out, err
	}
	if out.History, err = dlqtriage.HistoryOf(k.Entry, actions); err != nil {
		return out, err
	}
	out.Gaps, err = s.gapsOf(ctx, k.Record, s.now())
	return out, err
}

// original reads the message that died, or says why it cannot be shown.
func (s *Service) original(ctx context.Context, e dlqtriage.Entry) (*lifecycle.Payload, string, error) {
	p, err := dlqtriage.Original(ctx, s.cfg.Store, e)
	switch {
	case errors.Is(err, lifecycle.ErrNotFound):
		return nil, "No copy of the message is kept: its publish line was not seen, or carried headers only, and its dead-letter entry does not have it.", nil
	case err != nil:
		return nil, "", err
	case p.Truncated:
		return &p, "The body was too large to be kept whole: this is its beginning.", nil
	}
	return &p, "", nil
}

// EntriesOf returns the entries of a task, those that died first first.
func (s *Service) EntriesOf(ctx context.Context, taskID string) ([]dlqtriage.Entry, error) {
	return s.cfg.Entries.EntriesOf(ctx, taskID, lifecycle.MessagesPerTask)
}

// CountEntries counts the entries that a filter selects.
func (s *Service) CountEntries(ctx context.Context, f dlqtriage.EntryFilter) (int64, error) {
	return ask(ctx, s.cache, "count entries "+f.Values().Encode(), entriesAge, func(ctx context.Context, _ lifecycle.Micros) (int64, error) {
		return s.cfg.Entries.CountEntries(ctx, f)
	})
}

// EntryGroups counts the entries that a filter selects by fields, the largest group first. more says that there are more groups than are given.
func (s *Service) EntryGroups(ctx context.Context, f dlqtriage.EntryFilter, by []dlqtriage.GroupField) (groups []dlqtriage.EntryGroup, more bool, err error) {
	key := "entry groups "
	for _, field := range by {
		key += string(field) + " "
	}
	groups, err = ask(ctx, s.cache, key+f.Values().Encode(), entriesAge, func(ctx context.Context, now lifecycle.Micros) ([]dlqtriage.EntryGroup, error) {
		return s.cfg.Entries.EntryGroups(ctx, f, by, now, maxGroups+1)
	})
	return groups[:min(len(groups), maxGroups)], len(groups) > maxGroups, err
}

// EntryStatistics is what became of entries, by span and over all of them.
type EntryStatistics struct {
	dlqtriage.Statistics
	Observed []Observed // Of each row.
}

// EntryStatistics counts what became of the entries that died between the bounds, which ascend: the beginnings of the spans and the end of the
// last.
func (s *Service) EntryStatistics(ctx context.Context, bounds []lifecycle.Micros) (EntryStatistics, error) {
	from, to := bounds[0], bounds[len(bounds)-1]
	key := "entry statistics"
	for _, at := range bounds {
		key += " " + at.Time().Format(time.RFC3339)
	}
	return ask(ctx, s.cache, key, fatesAge, func(ctx context.Context, _ lifecycle.Micros) (out EntryStatistics, err error) {
		cells, err := s.cfg.Store.Rollups(ctx, duplicates.Metrics(bounds), from, to, false)
		if err != nil {
			return out, err
		}
		messages := make([]int64, len(bounds)-1)
		for i, row := range duplicates.Rows(cells, bounds) {
			messages[i] = row.Published
		}
		counter := dlqtriage.NewCounter(bounds)
		if err = s.cfg.Entries.EachFate(ctx, from, to, counter.Add); err != nil {
			return out, err
		}
		text, err := s.cfg.Store.Watermark(ctx, lifecycle.WatermarkRetained)
		if err != nil {
			return out, err
		}
		out.Statistics = counter.Statistics(messages)
		seen, err := s.FirstSeen(ctx)
		if err != nil {
			return out, err
		}
		out.DeletedBetween(seen, lifecycle.Retained(text))
		out.Observed, err = s.observedBuckets(ctx, bounds, func(i int) bool { return out.Rows[i].Messages+out.Rows[i].Entries > 0 })
		for i, r := range out.Rows[:len(out.Observed)] {
			out.Observed[i] = out.Observed[i].without(r)
		}
		return out, err
	})
}

// without is how much is known of the entries of a row, of which some may have been deleted.
func (o Observed) without(r dlqtriage.StatisticsRow) Observed {
	switch {
	case !r.Deleted || o == ObservedNone:
		return o
	case r.Entries == 0:
		return ObservedNone
	}
	return ObservedPart
}
