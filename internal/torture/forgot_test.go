//go:build linux

package torture

// handed is a delivery as an answer to it names it.
type handed struct {
	consumer  string
	cseq, seq uint64
	n         int
}

// forgot reports whether the lines show that the broker, killed or with a full disk, has forgotten a delivery of a message: later it numbered that consumer's
// deliveries from before it. Whether the answers to that delivery had effect, and that it took place, cannot be proved from its state then.
func (w *wires) forgot(seq uint64) bool {
	for i, h := range w.handed {
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
