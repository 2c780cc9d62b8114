package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

// selectEntries begins every query that reads entries with [Store.entries].
const selectEntries = `SELECT coalesce(s.revision, 0), e.entry FROM entries e LEFT JOIN subjects s ON s.subject = e.subject WHERE `

// entries reads what a query that begins with selectEntries gives.
func (s *Store) entries(ctx context.Context, query string, args ...any) ([]dlqtriage.Entry, error) {
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	var out []dlqtriage.Entry
	var revision int64
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&revision, &body}, func() error {
		e, err := rowcodec.Entry(body)
		e.Revision = uint64(revision)
		out = append(out, e)
		return err
	})
	return out, err
}

// entryTextColumns are the columns of entries whose values this program itself names; the others hold bytes of the fleet.
var entryTextColumns = map[string]bool{"category": true, "path": true}

// entryConditions writes a filter on entries e.
func entryConditions(f dlqtriage.EntryFilter) *conditions {
	c := &conditions{terms: []string{"TRUE"}}
	for _, of := range columns.EntryConditions(f) {
		if entryTextColumns[of.Column] {
			c.term(not(of.Not)+"e."+of.Column+" = ANY(%s)", of.Values)
		} else {
			c.term(not(of.Not)+"e."+of.Column+" = ANY(%s)", byteTexts(of.Values))
		}
	}
	c.entryIDs(f.IDs, false)
	c.entryIDs(f.Not.IDs, true)
	for _, word := range f.Words {
		c.term("position(%s::bytea IN e.words) > 0", columns.Word(word))
	}
	for _, word := range f.Not.Words {
		c.term("position(%s::bytea IN e.words) = 0", columns.Word(word))
	}
	if f.From.Known() {
		c.term("e.failed >= %s", int64(f.From))
	}
	if f.To.Known() {
		c.term("e.failed < %s", int64(f.To))
	}
	return c
}

// entryIDs asks that an entry, its task or its message has one of the ids, or none of them.
func (c *conditions) entryIDs(values []string, none bool) {
	if len(values) == 0 {
		return
	}
	ids := c.arg(byteTexts(values))
	c.terms = append(c.terms, not(none)+"(e.id = ANY("+ids+") OR e.task_id = ANY("+ids+") OR e.message_id = ANY("+ids+"))")
}

func not(is bool) string {
	if is {
		return "NOT "
	}
	return ""
}

// Entries implements [dlqtriage.EntryReader].
func (s *Store) Entries(ctx context.Context, f dlqtriage.EntryFilter, p dlqtriage.EntryPageRequest) (dlqtriage.EntryPage, error) {
	c := entryConditions(f)
	sign, direction := "<", "DESC"
	if p.Backward {
		sign, direction = ">", "ASC"
	}
	if p.From != nil {
		c.term("(e.failed, e.id) "+sign+" (%s, %s)", int64(p.From.FailedAt), []byte(p.From.ID))
		c.term("e.failed "+sign+"= %s", int64(p.From.FailedAt)) // For the index.
	}
	query := selectEntries + c.all() + " ORDER BY e.failed " + direction + ", e.id " + direction + " LIMIT " + c.arg(p.Limit+1)
	rows, err := s.entries(ctx, query, c.args...)
	return columns.EntryPage(rows, p), s.wrap("list entries", err)
}

// Entry implements [dlqtriage.EntryReader].
func (s *Store) Entry(ctx context.Context, id string) (dlqtriage.Entry, error) {
	found, err := s.entries(ctx, selectEntries+"substring(e.id, 1, 64) = $1 AND e.id = $2", beginning(id), []byte(id))
	if err == nil && len(found) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return dlqtriage.Entry{}, s.wrap(fmt.Sprintf("read entry %q", id), err)
	}
	return found[0], nil
}

// EntriesOf implements [dlqtriage.EntryReader].
func (s *Store) EntriesOf(ctx context.Context, taskID string, limit int) ([]dlqtriage.Entry, error) {
	out, err := s.entries(ctx, selectEntries+"e.task = (SELECT id FROM tasks WHERE key = $1) ORDER BY e.failed, e.id LIMIT $2", taskKey(taskID), limit)
	return out, s.wrap("read entries of task", err)
}

// CountEntries implements [dlqtriage.EntryReader].
func (s *Store) CountEntries(ctx context.Context, f dlqtriage.EntryFilter) (n int64, err error) {
	c := entryConditions(f)
	err = s.pool.QueryRow(ctx, "SELECT count(*) FROM entries e WHERE "+c.all(), c.args...).Scan(&n)
	return n, s.wrap("count entries", err)
}

// EntryGroups implements [dlqtriage.EntryReader].
func (s *Store) EntryGroups(
	ctx context.Context, f dlqtriage.EntryFilter, by []dlqtriage.GroupField, now lifecycle.Micros, limit int,
) ([]dlqtriage.EntryGroup, error) {
	c := entryConditions(f)
	fields := columns.GroupColumns(by)
	end, recent, before := c.arg(int64(now)), c.arg(int64(now.Add(-dlqtriage.TrendSpan))), c.arg(int64(now.Add(-2*dlqtriage.TrendSpan)))
	query := "SELECT count(*), count(*) FILTER (WHERE e.status = 'open'), min(e.failed), max(e.failed), " +
		"count(*) FILTER (WHERE e.failed > " + recent + " AND e.failed <= " + end + "), " +
		"count(*) FILTER (WHERE e.failed > " + before + " AND e.failed <= " + recent + "), " +
		"count(*) FILTER (WHERE e.status IN ('retried', 'reassigned')), " +
		"count(*) FILTER (WHERE e.status IN ('retried', 'reassigned') AND e.outcome = 'resolved'), " +
		"count(*) FILTER (WHERE e.status IN ('retried', 'reassigned') AND e.outcome = 'died_again'), " +
		"coalesce(percentile_disc(0.5) WITHIN GROUP (ORDER BY e.resolved - e.failed) FILTER (WHERE e.status IN ('retried', 'reassigned') AND e.outcome = 'resolved'), 0), " + fields +
		" FROM entries e WHERE " + c.all() + " GROUP BY " + fields + " ORDER BY count(*) DESC, " + bytewise(by) + " LIMIT " + c.arg(limit)
	rows, err := s.pool.Query(ctx, query, c.args...)
	if err != nil {
		return nil, s.wrap("group entries", err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (g dlqtriage.EntryGroup, err error) {
		values := make([][]byte, len(by))
		var median int64
		targets := []any{&g.Count, &g.Open, &g.FirstAt, &g.LastAt, &g.Recent, &g.Before, &g.Retried, &g.Recovered, &g.DiedAgain, &median}
		for i := range values {
			targets = append(targets, &values[i])
		}
		err = row.Scan(targets...)
		g.Median = time.Duration(max(0, median)) * time.Microsecond
		for _, v := range values {
			g.Values = append(g.Values, string(v))
		}
		return g, err
	})
	return out, s.wrap("group entries", err)
}

// EntrySteps implements [dlqtriage.EntryReader].
func (s *Store) EntrySteps(ctx context.Context, f dlqtriage.EntryFilter, by []dlqtriage.GroupField, now lifecycle.Micros) ([]dlqtriage.GroupSteps, error) {
	c, fields := entryConditions(f), columns.GroupColumns(by)
	from := c.arg(int64(now.Add(-2 * dlqtriage.TrendSpan)))
	query := "SELECT (e.failed - 1 - " + from + "::bigint) / " + c.arg(dlqtriage.TrendStep.Microseconds()) + "::bigint AS step, count(*), " + fields +
		" FROM entries e WHERE " + c.all() + " AND e.failed > " + from + " AND e.failed <= " + c.arg(int64(now)) + " GROUP BY step, " + fields
	rows, err := s.pool.Query(ctx, query, c.args...)
	if err != nil {
		return nil, s.wrap("count deaths over time", err)
	}
	out, values := columns.StepsByGroup{}, make([][]byte, len(by))
	var step, n int64
	targets := []any{&step, &n}
	for i := range values {
		targets = append(targets, &values[i])
	}
	_, err = pgx.ForEachRow(rows, targets, func() error {
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = string(v)
		}
		out.Add(texts, step, n)
		return nil
	})
	return out.List(), s.wrap("count deaths over time", err)
}

// bytewise are the columns by which groups are ordered: texts otherwise compare by the locale.
func bytewise(by []dlqtriage.GroupField) string {
	names := make([]string, len(by))
	for i, field := range by {
		names[i] = "e." + string(field)
		if entryTextColumns[string(field)] {
			names[i] += ` COLLATE "C"`
		}
	}
	return strings.Join(names, ", ")
}

const selectFates = `SELECT category, detail, kind, path, agent, type, status, outcome, via, due, failed, resolved FROM entries
WHERE failed >= $1 AND failed < $2`

// EachFate implements [dlqtriage.EntryReader].
func (s *Store) EachFate(ctx context.Context, from, to lifecycle.Micros, visit func(dlqtriage.Fate)) error {
	rows, err := s.pool.Query(ctx, selectFates, int64(from), int64(to))
	if err != nil {
		return s.wrap("read fates of entries", err)
	}
	var f dlqtriage.Fate
	var detail, kind, agent, typ, status, via []byte
	targets := []any{&f.Category, &detail, &kind, &f.Path, &agent, &typ, &status, &f.Outcome, &via, &f.Until, &f.FailedAt, &f.ResolvedAt}
	_, err = pgx.ForEachRow(rows, targets, func() error {
		f.Detail, f.Kind, f.Agent, f.Type, f.Status, f.Via = string(detail), dlqtriage.Kind(kind), string(agent), string(typ), dlqtriage.Status(status), string(via)
		visit(f)
		return nil
	})
	return s.wrap("read fates of entries", err)
}

// Uncopied implements [dlqtriage.QueueReader].
func (s *Store) Uncopied(ctx context.Context, before lifecycle.Micros, after *dlqtriage.EntryCursor, limit int) ([]dlqtriage.Entry, error) {
	c := &conditions{terms: []string{"NOT e.copied"}}
	c.term("e.failed < %s", int64(before))
	if after != nil {
		c.term("(e.failed, e.id) > (%s, %s)", int64(after.FailedAt), []byte(after.ID))
		c.term("e.failed >= %s", int64(after.FailedAt)) // For the index.
	}
	out, err := s.entries(ctx, selectEntries+c.all()+" ORDER BY e.failed, e.id LIMIT "+c.arg(limit), c.args...)
	return out, s.wrap("read entries that are not copied", err)
}

// DeferredUntil implements [dlqtriage.QueueReader].
func (s *Store) DeferredUntil(ctx context.Context, now lifecycle.Micros, limit int) ([]dlqtriage.Entry, error) {
	out, err := s.entries(ctx, selectEntries+"e.due <> 0 AND e.due <= $1 ORDER BY e.due, e.id LIMIT $2", int64(now), limit)
	return out, s.wrap("read deferred entries", err)
}
