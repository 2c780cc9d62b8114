//go:build linux

package torture

import (
	"errors"
	"path/filepath"
	"testing"

	"fleetglass/fleet"

	"github.com/nats-io/nats.go/jetstream"
)

// What brokers lose when they die is rarely the last word about a message. Here it is, on purpose: while Fleetglass is away, every answer to
// some of the messages is deleted from the capture streams, and of half of these the publish line too. A reconciliation must
// account for all others, and name exactly these.
func TestABalanceNamesExactlyWhatWasLost(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	b := startBroker(t, r.dir)
	data := filepath.Join(r.dir, "data")
	g := newGlass(t, r.dir, "--nats-url", b.url(), "--data-dir", data)
	g.again()
	g.ready()
	g.kill()
	agents, path := r.startFleet(b.url(), form(60, 300), 30)
	lines := awaitFleet(t, agents, path, form(2*patience, 10*patience))
	js := dial(t, b.url())
	truth := tell(lines)
	r.lose(js, truth)
	g.again()
	c := g.ready()
	g.recover(js)
	quiet(t, js)
	a := r.losses(js, c, lines, truth)
	verdict(t, c, truth, a.compare)
	if len(a.lost(truth, func(string) bool { return false })) == 0 {
		t.Error("nothing was lost")
	}
	r.balancesHonestly(c, js, truth, a)
}

// lose deletes what was captured of a third of the messages that have left the stream, but not of the first, before which nothing is known.
func (r *run) lose(js jetstream.JetStream, truth map[string]*told) {
	r.t.Helper()
	doomed, unseen, there := map[uint64]bool{}, map[uint64]bool{}, left(r.t, js)
	for _, id := range sortedKeys(truth) {
		if seq := truth[id].Seq; seq > 1 && !there[seq] && r.rand.IntN(3) == 0 {
			doomed[seq], unseen[seq] = true, r.rand.IntN(2) == 0
		}
	}
	r.deleteLines(js, fleet.CapturePub, unseen, (*wires).publish)
	r.deleteLines(js, fleet.CaptureAck, doomed, (*wires).answer)
	r.deleteLines(js, fleet.CaptureEvt, doomed, (*wires).advisory)
}

// deleteLines deletes the lines that speak of one of the messages.
func (r *run) deleteLines(js jetstream.JetStream, name string, which map[uint64]bool, read func(*wires, jetstream.Msg) error) {
	r.t.Helper()
	stream, err := js.Stream(r.t.Context(), name)
	if err != nil {
		r.t.Fatal(err)
	}
	deleted := 0
	err = eachLine(r.t.Context(), js, name, func(msg jetstream.Msg) error {
		w := &wires{bySeq: map[uint64]wire{}, byTask: map[string]wire{}, ids: map[uint64]string{}, deleted: map[uint64]bool{}}
		meta, err := msg.Metadata()
		if err := errors.Join(err, read(w, msg)); err != nil {
			return err
		}
		for seq := range w.bySeq {
			if which[seq] {
				deleted++
				return stream.DeleteMsg(r.t.Context(), meta.Sequence.Stream)
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.note("deleted from "+name, "%d lines", deleted)
}
