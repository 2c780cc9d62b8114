package collectors

import (
	"testing"

	"fleetglass/fleet"
	"fleetglass/lifecycle"
)

func TestLossesOfAShard(t *testing.T) {
	t.Parallel()
	second := lifecycle.Micros(1_000_000)
	for _, c := range []struct {
		name     string
		was      losses
		seen     look
		read     uint64 // Up to which all is known to be read afterwards.
		from, to uint64 // Of the gap; zero for none.
	}{
		{"acknowledgements move it", losses{read: readTo{Seq: 10}}, look{floor: 30, first: 5, last: 90}, 30, 0, 0},
		{"what was discarded had been read", losses{read: readTo{Seq: 10}}, look{floor: 10, first: 11, last: 90}, 10, 0, 0},
		{"a floor that passes discarded lines proves nothing", losses{read: readTo{Seq: 10}}, look{floor: 49, first: 50, last: 90}, 49, 11, 49},
		{"what is behind the discarded lines counts", losses{read: readTo{Seq: 10}}, look{floor: 60, first: 50, last: 90}, 60, 11, 49},
		{"a quiet shard is read to where the stream ended a while ago", losses{read: readTo{Seq: 10}, last: 80, at: 1}, look{floor: 3, idle: true, first: 5, last: 90, at: 1 + second}, 80, 0, 0},
		{"a moment ago is too soon", losses{read: readTo{Seq: 10}, last: 80, at: 1}, look{floor: 3, idle: true, first: 5, last: 90, at: second}, 10, 0, 0},
		{"a shard that has lines to read is not read", losses{read: readTo{Seq: 10}, last: 80, at: 1}, look{floor: 12, first: 5, last: 90, at: 2 * second}, 12, 0, 0},
		{"everything is discarded", losses{read: readTo{Seq: 10}}, look{floor: 90, idle: true, first: 91, last: 90}, 90, 11, 90},
		{"an empty stream", losses{}, look{idle: true, first: 0, last: 0, at: second}, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			next, gap := c.was.next(c.seen, "OBS_ACK", fleet.Shard{Of: 4, Index: 2})
			if next.read.Seq != c.read {
				t.Errorf("all is known to be read up to %d, want %d", next.read.Seq, c.read)
			}
			if gap == nil && c.from > 0 || gap != nil && (gap.FromSeq != c.from || gap.ToSeq != c.to || gap.Source != "OBS_ACK") {
				t.Errorf("gap %+v, want %d to %d", gap, c.from, c.to)
			}
		})
	}
}
