package brokersync

import (
	"slices"
)

// Presence is what the broker said about which sequences are still in the stream. Below First and above Last nothing is. Between them
// it is complete in the range [From, To] only; single answers complete it elsewhere.
type Presence struct {
	First, Last uint64 // Of the stream. An empty stream has First = Last+1.
	From, To    uint64 // The range for which Listed is complete.
	Listed      []uint64
	Deleted     bool            // Listed holds the sequences that are gone; otherwise those that are there.
	Single      map[uint64]bool // Answers about single sequences.
}

// Has reports whether a sequence is in the stream, and whether that is known. Sequences beyond Last were not looked at.
func (p Presence) Has(seq uint64) (present, known bool) {
	if single, ok := p.Single[seq]; ok {
		return single, true
	}
	switch {
	case seq < p.First:
		return false, true
	case seq > p.Last:
		return false, false
	case seq < p.From || seq > p.To:
		return false, false
	}
	_, listed := slices.BinarySearch(p.Listed, seq)
	return listed != p.Deleted, true
}

// Between calls yield for every sequence in [from, to] that is in the stream, in order, until it returns false. The caller stays in
// the range for which presence is complete.
func (p Presence) Between(from, to uint64, yield func(seq uint64) bool) {
	from, to = max(from, p.First, p.From), min(to, p.Last, p.To)
	at, _ := slices.BinarySearch(p.Listed, from)
	if !p.Deleted {
		for ; at < len(p.Listed) && p.Listed[at] <= to; at++ {
			if !yield(p.Listed[at]) {
				return
			}
		}
		return
	}
	for seq := from; seq <= to && seq != 0; seq++ {
		if at < len(p.Listed) && p.Listed[at] == seq {
			at++
			continue
		}
		if !yield(seq) {
			return
		}
	}
}
