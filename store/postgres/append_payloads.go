package postgres

import (
	"cmp"
	"context"
	"slices"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"

	"github.com/jackc/pgx/v5"
)

const (
	copyPayloads   = `COPY payloads (stream, seq, at, headers, body, size, truncated) FROM STDIN BINARY`
	upsertPayloads = `INSERT INTO payloads (stream, seq, at, headers, body, size, truncated)
SELECT * FROM unnest($1::integer[], $2::bigint[], $3::bigint[], $4::bytea[], $5::bytea[], $6::bigint[], $7::boolean[])
ON CONFLICT (stream, seq, at) DO UPDATE SET headers = excluded.headers, body = excluded.body, size = excluded.size,
    truncated = excluded.truncated`
)

// writePayloads stores the payloads of new messages, and queues the others. Should one of the former be stored already, the transaction
// starts over, and then takes none for new. Payloads that some other publish line brought are lines of somebody else.
func (f *folding) writePayloads(ctx context.Context, jobs []*job, alone bool, writes *pgx.Batch) error {
	var all []lifecycle.Payload
	for _, j := range jobs {
		all = append(all, j.batch.Payloads...)
	}
	all, displaced := f.fold.Displaced(all)
	queueQuarantined(writes, displaced)
	slices.Reverse(all) // Of several of one message and time the last one given stays.
	slices.SortStableFunc(all, comparePayloads)
	all = slices.CompactFunc(all, func(a, b lifecycle.Payload) bool { return comparePayloads(a, b) == 0 })
	var added, others []lifecycle.Payload
	for _, p := range all {
		if _, stored := f.stored[p.Message]; stored || alone {
			others = append(others, p)
		} else {
			added = append(added, p)
		}
	}
	f.queuePayloads(writes, others)
	stream := f.store.streams.memo()
	return copyRows(ctx, f.tx, copyPayloads, len(added), func(t *tuple, i int) {
		p := &added[i]
		t.columns(7)
		t.int32(stream(p.Message.Stream))
		t.int64(int64(p.Message.Seq))
		t.int64(int64(p.At))
		t.value(func(b []byte) []byte { return rowcodec.AppendHeaders(b, p.Headers) })
		t.bytes(p.Body)
		t.int64(p.Size)
		t.bool(p.Truncated)
	})
}

func comparePayloads(a, b lifecycle.Payload) int {
	return cmp.Or(a.Message.Compare(b.Message), cmp.Compare(a.At, b.At))
}

func (f *folding) queuePayloads(writes *pgx.Batch, payloads []lifecycle.Payload) {
	if len(payloads) == 0 {
		return
	}
	var (
		streams          []int32
		seqs, ats, sizes []int64
		headers, bodies  [][]byte
		truncated        []bool
		stream           = f.store.streams.memo()
	)
	for _, p := range payloads {
		streams, seqs, ats = append(streams, stream(p.Message.Stream)), append(seqs, int64(p.Message.Seq)), append(ats, int64(p.At))
		headers, bodies = append(headers, bytesOf(rowcodec.AppendHeaders(nil, p.Headers))), append(bodies, bytesOf(p.Body))
		sizes, truncated = append(sizes, p.Size), append(truncated, p.Truncated)
	}
	writes.Queue(upsertPayloads, streams, seqs, ats, headers, bodies, sizes, truncated)
}
