package idempotency

import (
	"cloud.google.com/go/firestore"

	"fleetglass/lifecycle"
)

// The collections of the contract (SPEC 1).
const (
	recordCollection = "task-idempotency"
	logCollection    = "idempotency-log"
)

// source is one collection and what its documents mean.
type source struct {
	collection string
	group      bool   // All collections of that name, wherever they are.
	field      string // The time that orders the documents.
	decode     func(document, *lifecycle.Batch) error
	records    bool // Its documents are records: that one goes away is worth knowing.
}

func sources() []source {
	return []source{
		{collection: recordCollection, field: "completedAt", decode: decodeCompletion, records: true},
		{collection: logCollection, group: true, field: "completed_at", decode: decodeEffect},
	}
}

func (s source) query(c *firestore.Client) firestore.Query {
	if s.group {
		return c.CollectionGroup(s.collection).Query
	}
	return c.Collection(s.collection).Query
}

// scale is a type of value that times are written in. Firestore compares values of one type only, so each has its own queries.
type scale struct {
	name  string
	value func(lifecycle.Micros) any
	read  func(any) (lifecycle.Micros, bool)
}

func scales() []scale {
	return []scale{
		{"number", func(m lifecycle.Micros) any { return int64(m) / 1000 }, readNumber},
		{"timestamp", func(m lifecycle.Micros) any { return m.Time() }, readTimestamp},
	}
}
