package dlqtriage

import (
	"fmt"

	"fleetglass/lifecycle"
)

// ackSubject is the subject to which the worker of the current attempt answers (NATS.md, "Acknowledgements"). The broker looks at the stream sequence, at the number of
// the delivery, and whether the consumer sequence is one that it has delivered and that is not answered. ok is false where that is not known.
func (h *Held) ackSubject() (subject string, ok bool) {
	c := h.Consumer
	if c == nil || c.Gone || h.Message.Stored == nil || h.Lease.Attempt < 1 {
		return "", false
	}
	cseq := h.consumerSeq()
	if cseq == 0 {
		return "", false
	}
	const microsecond = 1000 // In nanoseconds; only the broker knows the rest of the time.
	return fmt.Sprintf("$JS.ACK.%s.%s.%d.%d.%d.%d.0", h.Key.Stream.Name, c.Name, h.Lease.Attempt, h.Key.Seq, cseq, int64(h.Message.Stored.At)*microsecond), true
}

// consumerSeq is that of the current attempt, else the latest that the broker's state showed; zero where neither is known.
func (h *Held) consumerSeq() uint64 {
	for _, a := range lifecycle.Attempts(h.Message, h.Task) {
		if a.N == h.Lease.Attempt && !a.Former && a.ConsumerSeq != 0 {
			return a.ConsumerSeq
		}
	}
	return h.Consumer.DeliveredCSeq
}
