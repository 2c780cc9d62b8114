package views

import "fleetglass/lifecycle"

// Cell is the number of a layer; nil for a layer that the ledger does not have.
func (r *LedgerRow) Cell(l lifecycle.Layer) *LedgerCell {
	switch l {
	case lifecycle.LayerStream:
		return &r.Stream
	case lifecycle.LayerIdempotency:
		return &r.Record
	case lifecycle.LayerExecution:
		return &r.Ran
	case lifecycle.LayerUnknown:
		return &r.Unknown
	case lifecycle.LayerConflict:
		return &r.Conflict
	case lifecycle.LayerSemantic:
		return &r.Semantic
	}
	return nil
}

// Blank reports whether nothing happened in the bucket.
func (r LedgerRow) Blank() bool {
	return r.Published+r.Completed+r.Stream.N+r.Record.N+r.Ran.N+r.Unknown.N+r.Conflict.N+r.Semantic.N == 0
}
