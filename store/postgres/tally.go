package postgres

import (
	"cmp"
	"maps"
	"slices"

	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

const addRollups = `INSERT INTO rollups (metric, bucket, digest, agent, label, n)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bigint[])
ON CONFLICT (metric, bucket, digest) DO UPDATE SET n = rollups.n + excluded.n`

// queueTally adds to the rollups, in an order that is the same for everybody, so that batches wait for each other in one direction
// only.
func queueTally(writes *pgx.Batch, tally lifecycle.Tally) {
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
	writes.Queue(addRollups, metrics, buckets, digests, agents, labels, n)
}

func compareCells(a, b lifecycle.Cell) int {
	return cmp.Or(cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Label, b.Label))
}
