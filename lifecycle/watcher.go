package lifecycle

import (
	"cmp"
	"slices"
)

// Watcher is what a consumer did that takes the same message and is not the workers': an auditor, where the stream is no work queue. Nothing of it judges
// the message.
type Watcher struct {
	Consumer string `json:"consumer"`
	N        int    `json:"n,omitempty"`    // Its highest attempt.
	AckAt    Micros `json:"ack,omitempty"`  // Its first acknowledgement.
	LastAt   Micros `json:"last,omitempty"` // The latest of what is known of it.
}

// maxWatchersKept bounds the watchers of a message: whose names are the least are kept.
const maxWatchersKept = 32

func (m *MessageFacts) joinWatcher(e Event) {
	i, found := slices.BinarySearchFunc(m.Watchers, e.Consumer, func(w Watcher, name string) int { return cmp.Compare(w.Consumer, name) })
	if !found {
		m.Watchers = slices.Insert(m.Watchers, i, Watcher{Consumer: e.Consumer})
	}
	w := &m.Watchers[i]
	w.N, w.LastAt = max(w.N, e.Attempt), latest(w.LastAt, e.At)
	if e.Kind == Acked || e.Kind == AckConfirmed {
		w.AckAt = earliest(w.AckAt, e.At)
	}
	m.Watchers = m.Watchers[:min(len(m.Watchers), maxWatchersKept)]
}
