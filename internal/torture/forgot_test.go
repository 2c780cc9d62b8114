//go:build linux

package torture

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
)

// handed is a delivery that a worker got.
type handed struct {
	consumer    string
	number, seq uint64 // Of the delivery among its consumer's, and of the message.
	attempt     int
	what        string // That its worker noted of it: it begins to work, or answers.
}

// handovers are the deliveries of a run as the workers noted them. Those of a broker that dies may be forgotten by it: whether the answers to such a delivery
// had effect, and that it took place, cannot be proved from the broker's state then.
type handovers struct {
	all       []handed        // In the order of the journal; one for each thing that its worker noted of it.
	forgetful map[string]bool // Consumers of which the broker has forgotten deliveries that their workers got.
}

// readHandovers reads the deliveries of a journal.
func readHandovers(lines []line) []handed {
	var all []handed
	for _, l := range lines {
		if l.Number > 0 {
			all = append(all, handed{consumer: fleet.WorkerName(l.Agent), number: l.Number, seq: l.Seq, attempt: l.Attempt, what: l.What})
		}
	}
	return all
}

// forgot reports whether the broker, killed or with a full disk, may have forgotten a delivery of a message: it later numbered that consumer's deliveries from
// before it, or it counts fewer of them in the end than workers got.
func (hs handovers) forgot(seq uint64) bool {
	for i, h := range hs.all {
		if h.seq == seq && hs.forgetful[h.consumer] {
			return true
		}
		for _, later := range hs.all[i+1:] {
			if h.seq == seq && h.consumer == later.consumer && h.numberedAgain(later) {
				return true
			}
		}
	}
	return false
}

// numberedAgain reports whether a later delivery has the number of this one, or must have come before it: a consumer's first deliveries are made in the order
// of the messages, and each further one has a higher number.
func (h handed) numberedAgain(later handed) bool {
	switch {
	case h == later: // A worker begins once, and ends once.
		return h.what != string(fleet.AnswerHeartbeat)
	case h.number == later.number && h.seq == later.seq && h.attempt == later.attempt: // What follows in the same delivery.
		return false
	case h.number == later.number, h.seq == later.seq && h.attempt == later.attempt:
		return true
	}
	return h.attempt == 1 && later.seq > h.seq && later.number+1 <= h.number+uint64(later.attempt)
}

// forgetful are the consumers of which the broker counts fewer deliveries than their workers got.
func forgetful(t *testing.T, js jetstream.JetStream, truth map[string]*told, all []handed) map[string]bool {
	t.Helper()
	got := map[string]uint64{}
	for _, task := range truth {
		got[fleet.WorkerName(task.Agent)] += uint64(task.deliveries())
	}
	for _, h := range all {
		got[h.consumer] = max(got[h.consumer], h.number)
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
