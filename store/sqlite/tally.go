package sqlite

import (
	"fleetglass/lifecycle"
	"fmt"
)

const upsertRollup = `INSERT INTO rollups (metric, bucket, agent, label, n) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (metric, bucket, agent, label) DO UPDATE SET n = n + excluded.n`

const deleteEmptyRollup = `DELETE FROM rollups WHERE metric = ? AND bucket = ? AND agent = ? AND label = ? AND n = 0`

// addRollups adds a tally to the rollups. Cells that reach zero go.
func (w *writer) addRollups(t lifecycle.Tally) error {
	for cell, n := range t {
		if err := bindCell(w.statement(upsertRollup), cell).int(n).exec(); err != nil {
			return fmt.Errorf("add to rollups: %w", err)
		}
		if n > 0 {
			continue
		}
		if err := bindCell(w.statement(deleteEmptyRollup), cell).exec(); err != nil {
			return fmt.Errorf("delete empty rollups: %w", err)
		}
	}
	return nil
}

func bindCell(s *statement, c lifecycle.Cell) *statement {
	return s.text(string(c.Metric)).int(int64(c.Bucket)).text(c.Agent).text(c.Label)
}
