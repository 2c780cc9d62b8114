package postgres

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

// rollupTable is a table of counts, by the statement that adds to it.
type rollupTable string

var (
	rollups      = rollupTableOf("rollups")       // What is asked.
	rollupsNext  = rollupTableOf("rollups_next")  // What an upgrade prepares.
	rollupsEnded = rollupTableOf("rollups_ended") // What deleted tasks have contributed.
)

func rollupTableOf(name string) rollupTable {
	return rollupTable(`INSERT INTO ` + name + ` AS r (metric, bucket, digest, agent, label, n)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bigint[])
ON CONFLICT (metric, bucket, digest) DO UPDATE SET n = r.n + excluded.n`)
}

// queueCounts adds what changed to the rollups, and to those that an upgrade prepares.
func (f *folding) queueCounts(ctx context.Context, writes *pgx.Batch, c lifecycle.Changes) error {
	tallies := []lifecycle.Tally{c.Tally}
	if f.upgrading {
		tallies = append(tallies, c.Current())
	}
	tallies, err := f.store.bounded(ctx, f.tx, writes, tallies...)
	for i, t := range tallies {
		queueTally(writes, []rollupTable{rollups, rollupsNext}[i], t)
	}
	return err
}

// queueTally adds to a table of counts, in an order that is the same for everybody, so that batches wait for each other in one direction
// only. The tally has the labels of [Store.bounded].
func queueTally(writes *pgx.Batch, table rollupTable, tally lifecycle.Tally) {
	if len(tally) == 0 {
		return
	}
	var (
		metrics                 []string
		buckets, n              []int64
		digests, agents, labels [][]byte
	)
	for _, cell := range slices.SortedFunc(maps.Keys(tally), compareCells) {
		metrics, buckets, n = append(metrics, string(cell.Metric)), append(buckets, int64(cell.Bucket)), append(n, tally[cell])
		digests = append(digests, digest(cell.Agent, cell.Label)[:16])
		agents, labels = append(agents, []byte(cell.Agent)), append(labels, []byte(cell.Label))
	}
	writes.Queue(string(table), metrics, buckets, digests, agents, labels, n)
}

func compareCells(a, b lifecycle.Cell) int {
	return cmp.Or(cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Label, b.Label))
}
