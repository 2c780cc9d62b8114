package postgres

import (
	"context"
	"fmt"
	"strings"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"

	"github.com/jackc/pgx/v5"
)

// CountTasks implements [lifecycle.TaskReader].
func (s *Store) CountTasks(ctx context.Context, f lifecycle.Filter) (counts map[lifecycle.State]int64, capped bool, err error) {
	without := f.Not.States
	f.States, f.Not.States = nil, nil
	if f.Counted() {
		counts, err = countFromRollups(ctx, s.pool.ready, f.Agents)
	} else {
		counts, capped, err = s.countRows(ctx, f)
	}
	for _, state := range without {
		delete(counts, state)
	}
	return counts, capped, s.wrap("count tasks", err)
}

const (
	selectStateCounts   = `SELECT label, sum(n)::bigint FROM rollups WHERE metric = $1 AND bucket = 0 GROUP BY label`
	selectStateCountsOf = `SELECT label, sum(n)::bigint FROM rollups WHERE metric = $1 AND bucket = 0 AND agent = ANY($2) GROUP BY label`
)

func countFromRollups(ctx context.Context, q querier, agents []string) (map[lifecycle.State]int64, error) {
	query, args := selectStateCounts, []any{string(lifecycle.MetricState)}
	if len(agents) > 0 {
		query, args = selectStateCountsOf, append(args, byteTexts(agents))
	}
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	counts := map[lifecycle.State]int64{}
	var label []byte
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&label, &n}, func() error {
		if n != 0 {
			counts[lifecycle.State(label)] = n
		}
		return nil
	})
	return counts, err
}

// countedRows numbers the latest rows that an index finds and counts those of them for which the rest of the filter holds.
const countedRows = `SELECT state, count(*) FILTER (WHERE n <= %[1]s AND %[2]s), bool_or(n > %[1]s)
FROM (SELECT t.*, row_number() OVER () AS n FROM (%[3]s) t) t GROUP BY state`

// residualColumns are all columns that a residual condition may name, and the state that is counted.
var residualColumns = "t.id, t.key, t.agent, t.state, t.stream, t.published, t.attempt, t.ran, t.held, t.cost, t.anomalies, t.duplicates, t.words, t.last_event, t.task_id, t." + strings.Join(lifecycle.FilterColumns(), ", t.")

// countRows looks at the latest [lifecycle.CountLimit] rows.
func (s *Store) countRows(ctx context.Context, f lifecycle.Filter) (map[lifecycle.State]int64, bool, error) {
	if f.NamesStreams() {
		if err := s.loadStreams(ctx); err != nil {
			return nil, false, err
		}
	}
	c, o := s.conditionsOf(f), columns.OrderOf(lifecycle.SortLastEventDesc, false)
	path := c.accessPathOf(f, o)
	limit := c.arg(lifecycle.CountLimit)
	latest := path.read(residualColumns,
		strings.Join(c.terms, " AND "), o, limit+" + 1")
	residual := strings.Join(append(c.residuals, "true"), " AND ")
	rows, err := s.pool.Query(ctx, fmt.Sprintf(countedRows, limit, residual, latest), c.args...)
	if err != nil {
		return nil, false, err
	}
	counts, capped := map[lifecycle.State]int64{}, false
	var state string
	var n int64
	var more bool
	_, err = pgx.ForEachRow(rows, []any{&state, &n, &more}, func() error {
		capped = capped || more
		if n > 0 {
			counts[lifecycle.State(state)] = n
		}
		return nil
	})
	return counts, capped, err
}

const selectFacets = `SELECT metric, CASE WHEN metric = $1 THEN agent ELSE label END, sum(n)::bigint FROM rollups
WHERE metric = $1 AND bucket = 0 OR metric = $2 AND bucket >= $3 GROUP BY 1, 2`

// Facets implements [lifecycle.TaskReader].
func (s *Store) Facets(ctx context.Context) (lifecycle.Facets, error) {
	facets := lifecycle.Facets{Agents: map[string]int64{}, Types: map[string]int64{}}
	since := lifecycle.MicrosOf(s.now()).Add(-lifecycle.FacetsSpan)
	rows, err := s.pool.Query(ctx, selectFacets, string(lifecycle.MetricState), string(lifecycle.MetricPublished), int64(since))
	if err != nil {
		return facets, s.wrap("read facets", err)
	}
	var metric string
	var value []byte
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&metric, &value, &n}, func() error {
		switch {
		case n == 0:
		case metric == string(lifecycle.MetricState):
			facets.Agents[string(value)] = n
		default:
			facets.Types[string(value)] = n
		}
		return nil
	})
	return facets, s.wrap("read facets", err)
}
