//go:build linux

package torture

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
)

// handed is a delivery as an answer to it names it.
type handed struct {
	consumer  string
	cseq, seq uint64
	n         int
}

// forgot reports whether the broker, killed or with a full disk, may have forgotten a delivery of a message: the lines show that it later numbered that
// consumer's deliveries from before it, or it counts fewer of them in the end than workers got. Whether the answers to that delivery had effect, and that it
// took place, cannot be proved from its state then.
func (w *wires) forgot(seq uint64) bool {
	for i, h := range w.handed {
		if h.seq == seq && w.forgetful[h.consumer] {
			return true
		}
		for _, later := range w.handed[i+1:] {
			if h.seq == seq && h.consumer == later.consumer && h.numberedAgain(later) {
				return true
			}
		}
	}
	return false
}

// numberedAgain reports whether a later answer is to a delivery that has the number of this one, or must have come before it: a consumer's first deliveries
// are made in the order of the messages, and each further one has a higher number.
func (h handed) numberedAgain(later handed) bool {
	switch {
	case h == later:
		return false
	case h.cseq == later.cseq, h.seq == later.seq && h.n == later.n:
		return true
	}
	return h.n == 1 && later.seq > h.seq && later.cseq+1 <= h.cseq+uint64(later.n)
}

// forgetful are the consumers of which the broker counts fewer deliveries than their workers got.
func forgetful(t *testing.T, js jetstream.JetStream, truth map[string]*told) map[string]bool {
	t.Helper()
	got := map[string]uint64{}
	for _, task := range truth {
		got[fleet.WorkerName(task.Agent)] += uint64(task.deliveries())
	}
	stream, err := js.Stream(t.Context(), fleet.StreamTasks)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	consumers := stream.ListConsumers(t.Context())
	for info := range consumers.Info() {
		if info.Delivered.Consumer < got[info.Name] {
			out[info.Name] = true
		}
	}
	if err := consumers.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
