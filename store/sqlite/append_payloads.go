package sqlite

import (
	"fleetglass/lifecycle"
	"fleetglass/store/internal/rowcodec"
)

const upsertPayload = `INSERT INTO payloads (stream, seq, at, size, truncated, headers, body) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (stream, seq) DO UPDATE SET
	at = excluded.at, size = excluded.size, truncated = excluded.truncated, headers = excluded.headers, body = excluded.body`

func (w *writer) putPayload(p *lifecycle.Payload) error {
	stream, err := w.stream(p.Message.Stream)
	if err != nil {
		return err
	}
	w.buffer = rowcodec.AppendHeaders(w.buffer[:0], p.Headers)
	return w.statement(upsertPayload).int(stream).int(int64(p.Message.Seq)).int(int64(p.At)).int(p.Size).flag(p.Truncated).
		blob(w.buffer).blob(p.Body).exec()
}
