package brokersync

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPresenceIsTheSameHoweverItWasListed compares both forms with a set.
func TestPresenceIsTheSameHoweverItWasListed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Uint64Range(1, 20).Draw(t, "first")
		there := rapid.SliceOfN(rapid.Bool(), 0, 30).Draw(t, "there")
		last := first + uint64(len(there)) - 1
		var present, deleted []uint64
		for i, is := range there {
			if seq := first + uint64(i); is {
				present = append(present, seq)
			} else {
				deleted = append(deleted, seq)
			}
		}
		from, to := rapid.Uint64Range(0, 60).Draw(t, "from"), rapid.Uint64Range(0, 60).Draw(t, "to")
		for _, p := range []Presence{
			{First: first, Last: last, From: first, To: last, Listed: present},
			{First: first, Last: last, From: first, To: last, Listed: deleted, Deleted: true},
		} {
			for seq := uint64(1); seq < 60; seq++ {
				has, known := p.Has(seq)
				if known != (seq <= last) || has != slices.Contains(present, seq) {
					t.Fatalf("%+v.Has(%d) = %t, %t", p, seq, has, known)
				}
			}
			var got, want []uint64
			p.Between(from, to, func(seq uint64) bool { got = append(got, seq); return true })
			for _, seq := range present {
				if seq >= from && seq <= to {
					want = append(want, seq)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%+v.Between(%d, %d) = %v, want %v", p, from, to, got, want)
			}
		}
	})
}
