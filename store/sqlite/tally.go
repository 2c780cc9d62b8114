package sqlite

import (
	"fmt"

	"fleetglass/lifecycle"
)

// rollupTable is a table of counts, by its statements.
type rollupTable struct{ upsert, deleteEmpty, deleteMinutes string }

var (
	rollups      = rollupTableOf("rollups")       // What is asked.
	rollupsNext  = rollupTableOf("rollups_next")  // What an upgrade prepares.
	rollupsEnded = rollupTableOf("rollups_ended") // What deleted tasks have contributed.
)

func rollupTableOf(name string) rollupTable {
	return rollupTable{
		upsert: `INSERT INTO ` + name + ` (metric, bucket, agent, label, n) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (metric, bucket, agent, label) DO UPDATE SET n = n + excluded.n`,
		deleteEmpty:   `DELETE FROM ` + name + ` WHERE metric = ? AND bucket = ? AND agent = ? AND label = ? AND n = 0`,
		deleteMinutes: `DELETE FROM ` + name + ` WHERE metric = ? AND bucket < ?`,
	}
}

// count adds what changed to the rollups, and to those that an upgrade prepares.
func (w *writer) count(c lifecycle.Changes) error {
	if w.upgrading {
		if err := w.addTo(rollupsNext, c.Current()); err != nil {
			return err
		}
	}
	return w.addTo(rollups, c.Tally)
}

// addTo adds a tally to a table of counts, with the labels of the names that have places. Cells that reach zero go.
func (w *writer) addTo(table rollupTable, t lifecycle.Tally) error {
	t, err := w.bounded(t)
	if err != nil {
		return fmt.Errorf("name labels: %w", err)
	}
	for cell, n := range t {
		if err := bindCell(w.statement(table.upsert), cell).int(n).exec(); err != nil {
			return fmt.Errorf("add to rollups: %w", err)
		}
		if n > 0 {
			continue
		}
		if err := bindCell(w.statement(table.deleteEmpty), cell).exec(); err != nil {
			return fmt.Errorf("delete empty rollups: %w", err)
		}
	}
	return nil
}

func bindCell(s *statement, c lifecycle.Cell) *statement {
	return s.text(string(c.Metric)).int(int64(c.Bucket)).text(c.Agent).text(c.Label)
}
