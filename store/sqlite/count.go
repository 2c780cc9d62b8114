package sqlite

import (
	"context"
	"slices"
	"strings"

	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

const countStates = `SELECT agent, label, n FROM rollups WHERE metric = 'state' AND bucket = 0 AND n <> 0`

// CountTasks implements [lifecycle.TaskReader].
func (s *Store) CountTasks(ctx context.Context, f lifecycle.Filter) (map[lifecycle.State]int64, bool, error) {
	counts := map[lifecycle.State]int64{}
	capped := false
	without := f.Not.States
	f.States, f.Not.States = nil, nil
	err := s.read(ctx, "count tasks", func(conn *sqlite.Conn) error {
		if f.Counted() {
			return prepare(conn, countStates).each(func(r *statement) error {
				if agent := r.getText(); len(f.Agents) == 0 || slices.Contains(f.Agents, agent) {
					counts[lifecycle.State(r.getText())] += r.getInt()
				}
				return nil
			})
		}
		var err error
		capped, err = s.countRows(conn, f, counts)
		return err
	})
	for _, state := range without {
		delete(counts, state)
	}
	return counts, capped, err
}

// countRows counts among the newest rows that the index gives.
func (s *Store) countRows(conn *sqlite.Conn, f lifecycle.Filter, counts map[lifecycle.State]int64) (capped bool, err error) {
	path, err := s.accessPathOf(conn, f, true)
	if err != nil || path.nothing {
		return false, err
	}
	left := int64(lifecycle.CountLimit)
	for i := range path.branches {
		seen, err := s.countBranch(conn, path, i, left, counts)
		if err != nil {
			return false, err
		}
		if seen == left {
			capped, err = s.branchGoesOn(conn, path, i, left)
			if err != nil || capped {
				return capped, err
			}
		}
		left -= seen
	}
	return false, nil
}

// residualColumns are all columns that a residual condition ([accessPath]) may name.
var residualColumns = strings.Join(append(lifecycle.FilterColumns(), "id, state, agent, stream, last_event, published, duplicates, attempt, ran, held, cost, anomalies, words, task_id"), ", ")

// countBranch looks at the newest rows of a branch, at most limit, and returns how many there were.
func (s *Store) countBranch(conn *sqlite.Conn, path accessPath, i int, limit int64, counts map[lifecycle.State]int64) (int64, error) {
	q, seen := sqlText{}, int64(0)
	q.add("SELECT state, sum(1")
	q.addText(&path.residual)
	q.add("), count(*) FROM (SELECT " + residualColumns)
	path.addBranch(&q, i)
	q.add(" ORDER BY last_event DESC LIMIT +?) GROUP BY state", limit)
	err := s.each(conn, &q, func(r *statement) error {
		counts[lifecycle.State(r.getText())] += r.getInt()
		seen += r.getInt()
		return nil
	})
	return seen, err
}

// branchGoesOn reports whether a branch has more than n rows.
func (s *Store) branchGoesOn(conn *sqlite.Conn, path accessPath, i int, n int64) (bool, error) {
	q, more := sqlText{}, false
	q.add("SELECT 1")
	path.addBranch(&q, i)
	q.add(" LIMIT 1 OFFSET +?", n)
	err := s.each(conn, &q, func(*statement) error { more = true; return nil })
	return more, err
}

const facetTypes = `SELECT label, sum(n) FROM rollups WHERE metric = 'published' AND bucket >= ? GROUP BY label`

// Facets implements [lifecycle.TaskReader].
func (s *Store) Facets(ctx context.Context) (lifecycle.Facets, error) {
	out := lifecycle.Facets{Agents: map[string]int64{}, Types: map[string]int64{}}
	since := lifecycle.MicrosOf(s.cfg.Now()).Add(-lifecycle.FacetsSpan)
	err := s.read(ctx, "read facets", func(conn *sqlite.Conn) error {
		err := prepare(conn, countStates).each(func(r *statement) error {
			agent, _ := r.getText(), r.getText()
			out.Agents[agent] += r.getInt()
			return nil
		})
		if err != nil {
			return err
		}
		return prepare(conn, facetTypes).int(int64(since)).each(func(r *statement) error {
			out.Types[r.getText()] = r.getInt()
			return nil
		})
	})
	return out, err
}
