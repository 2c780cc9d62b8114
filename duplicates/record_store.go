package duplicates

// RecordStore says where agents keep their idempotency records.
type RecordStore string

// The stores of records. Each has a row in the table below.
const (
	RecordsUnknown   RecordStore = "unknown"   // No store of records is known here.
	RecordsKV        RecordStore = "kv"        // A bucket of the broker: no price per operation.
	RecordsFirestore RecordStore = "firestore" // Firestore: every operation has its price.
)

// recordStore is what costs and pages need to know of a store of records.
type recordStore struct {
	store  RecordStore
	name   string // As people call it.
	priced bool   // Every operation has its price.
	inside bool   // It is part of the broker, and known only where the broker's configuration could be read.
}

var recordStores = []recordStore{
	{store: RecordsUnknown, name: "a store that is not known"},
	{store: RecordsKV, name: "a bucket of the broker", inside: true},
	{store: RecordsFirestore, name: "Firestore", priced: true},
}

// RecordStores lists the stores of records, the unknown one first.
func RecordStores() []RecordStore {
	var out []RecordStore
	for _, r := range recordStores {
		out = append(out, r.store)
	}
	return out
}

// facts is the row of the store; the zero row for a value that has none.
func (s RecordStore) facts() (found recordStore) {
	for _, r := range recordStores {
		if r.store == s {
			return r
		}
	}
	return found
}

// Known reports whether it is known where the records are.
func (s RecordStore) Known() bool { return s != RecordsUnknown && s.facts().store == s && s != "" }

// Name is what people call the store; empty for a value that is not in the table.
func (s RecordStore) Name() string { return s.facts().name }

// Priced reports whether operations on the store have a price.
func (s RecordStore) Priced() bool { return s.facts().priced }

// Found is the store as far as it was found: one inside a broker of which nothing could be read is not known.
func (s RecordStore) Found(live Retention) RecordStore {
	if !s.Known() || s.facts().inside && !live.Known {
		return RecordsUnknown
	}
	return s
}
