//go:build linux

package situations

import (
	"fmt"
	"net/http"
	"time"
)

// handedBack is how a census names what somebody handed back.
const handedBack = "handed back"

// release lets somebody hand a message back that a worker has, through Fleetglass. The worker does not know, and may answer later. Where several consumers have the
// message, nobody knows whose is handed back.
func (w *life) release() {
	d := pick(w.random, w.held)
	if w.mode != live || d.Msg == nil || !d.by.awaits() || d.of.task == "foreign" {
		return
	}
	w.know(func() {
		for i, other := range w.held {
			if other.of == d.of {
				w.held[i].at = time.Time{} // It may have lost it from now on.
				other.deed.ended("naked")
			}
		}
	})
	params := map[string]any{"force": true, "force_reason": "the clients want it so"}
	status, id, why := w.call(fmt.Sprintf("/in-flight/%s/%d/actions", d.of.stream, d.of.seq), map[string]any{"action": "release", "reason": "it is tried", "params": params})
	w.note("release of %d: %d %s", d.of.seq, status, why)
	if status == http.StatusAccepted && w.awaitEnd(id).Status == "succeeded" {
		w.know(func() { d.of.told, w.released = true, w.released+1 })
	}
}
