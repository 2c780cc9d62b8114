package reconcile

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"fleetglass/lifecycle"
)

// sequenceSet is a set of sequences, kept as unbroken ranges in order.
type sequenceSet []sequenceRange

type sequenceRange struct{ from, to uint64 }

// add puts a sequence in and reports whether it was not there.
func (r *sequenceSet) add(seq uint64) bool {
	all := *r
	i := sort.Search(len(all), func(i int) bool { return all[i].to >= seq }) // The first range that does not end before seq.
	if i < len(all) && all[i].from <= seq {
		return false
	}
	after := i > 0 && all[i-1].to+1 == seq
	before := i < len(all) && all[i].from == seq+1
	switch {
	case after && before:
		all[i-1].to = all[i].to
		*r = slices.Delete(all, i, i+1)
	case after:
		all[i-1].to = seq
	case before:
		all[i].from = seq
	default:
		*r = slices.Insert(all, i, sequenceRange{seq, seq})
	}
	return true
}

// missing calls yield for every run of sequences in [from, to] that are not in the set.
func (r sequenceSet) missing(from, to uint64, yield func(sequenceRange)) {
	for _, have := range r {
		if have.to < from {
			continue
		}
		if have.from > to {
			break
		}
		if have.from > from {
			yield(sequenceRange{from, have.from - 1})
		}
		if have.to >= to {
			return
		}
		from = have.to + 1
	}
	if from <= to {
		yield(sequenceRange{from, to})
	}
}

func (r sequenceSet) size() (n int64) {
	for _, x := range r {
		n += int64(x.to-x.from) + 1
	}
	return n
}

// compare calls yield for the sequences of the span that no message was given for: never seen, or held by the stream and not known.
func (s *auditStream) compare(yield func(DiscrepancyKind, Discrepancy)) {
	s.known.missing(max(s.FromSeq, s.SeenFrom), s.ToSeq, func(r sequenceRange) {
		from := r.from
		if s.Present != nil {
			s.Present.Between(r.from, r.to, func(seq uint64) bool {
				if from < seq {
					yield(NeverSeen, s.neverSeen(from, seq-1))
				}
				yield(HeldUnknown, s.unknown(seq))
				from = seq + 1
				return true
			})
		}
		if from <= r.to {
			yield(NeverSeen, s.neverSeen(from, r.to))
		}
	})
}

func (s *auditStream) neverSeen(from, to uint64) Discrepancy {
	d := Discrepancy{Message: lifecycle.MessageKey{Stream: s.Stream, Seq: from}, Why: "The stream gave out this sequence, and no line of the message was ever seen."}
	if to > from {
		d.ToSeq, d.Why = to, "The stream gave out these sequences, and no line of the messages was ever seen."
	}
	return d
}

func (s *auditStream) unknown(seq uint64) Discrepancy {
	return Discrepancy{Message: lifecycle.MessageKey{Stream: s.Stream, Seq: seq}, At: s.LookedAt, Why: "The stream holds the message, and the store has not heard of it."}
}

// rowKeeper counts rows and keeps the first ones by message and task.
type rowKeeper struct {
	total int64
	rows  []Discrepancy
}

func (k *rowKeeper) add(d Discrepancy) {
	k.total += d.N()
	k.keep(d)
}

func (k *rowKeeper) keep(d Discrepancy) {
	i, _ := slices.BinarySearchFunc(k.rows, d, compareRows)
	if i == DiscrepancyRows {
		return
	}
	if len(k.rows) == DiscrepancyRows {
		k.rows = k.rows[:DiscrepancyRows-1]
	}
	k.rows = slices.Insert(k.rows, i, d)
}

// join adds the rows of another keeper.
func (k *rowKeeper) join(o *rowKeeper) {
	k.total += o.total
	for _, d := range o.rows {
		k.keep(d)
	}
}

func compareRows(a, b Discrepancy) int {
	return cmp.Or(a.Message.Compare(b.Message), strings.Compare(a.TaskID, b.TaskID))
}
