package idempotency

import (
	"testing"
	"time"

	"fleetglass/lifecycle"
)

func TestOnlyADocumentThatIsLongOverdueShowsAStalledListener(t *testing.T) {
	t.Parallel()
	const second = lifecycle.Micros(1_000_000)
	now := 1_700_000_000 * second
	opened := now.Time().Add(-time.Hour)
	doc := func(updated lifecycle.Micros, completed any) document {
		return document{path: "task-idempotency/t", updated: updated, read: now, fields: map[string]any{"completedAt": completed}}
	}
	millis := func(m lifecycle.Micros) int64 { return int64(m) / 1000 }
	for _, tt := range []struct {
		name   string
		doc    document
		told   lifecycle.Micros // The revision that the listener told; zero for none.
		opened time.Time
		want   bool
	}{
		{"never told", doc(now-61*second, millis(now-62*second)), 0, opened, true},
		{"an older revision was told", doc(now-61*second, millis(now-62*second)), now - 90*second, opened, true},
		{"told", doc(now-61*second, millis(now-62*second)), now - 61*second, opened, false},
		{"a newer revision was told", doc(now-61*second, millis(now-62*second)), now - 5*second, opened, false},
		{"written just now", doc(now-59*second, millis(now-62*second)), 0, opened, false},
		{"before the listener's bound", doc(now-61*second, millis(now-700*second)), 0, opened, false},
		{"of another type", doc(now-61*second, "text"), 0, opened, false},
		{"the listener has just begun", doc(now-61*second, millis(now-62*second)), 0, now.Time().Add(-time.Second), false},
		{"no listener is open", doc(now-61*second, millis(now-62*second)), 0, time.Time{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := FirestoreConfig{Patience: time.Minute, Now: now.Time}
			d := &feed{
				Firestore: &Firestore{cfg: cfg}, source: sources()[0], scale: scales()[0], from: now - 600*second, began: tt.opened,
				told: map[string]known{},
			}
			if tt.told.Known() {
				d.told[tt.doc.path] = known{updated: tt.told}
			}
			if got := d.missed(tt.doc); got != tt.want {
				t.Errorf("missed = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTimesAreReadByTheirType(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_123)
	for _, tt := range []struct {
		value any
		scale string
		want  lifecycle.Micros
	}{
		{int64(1_700_000_000_123), "number", lifecycle.MicrosOf(at)},
		{1_700_000_000_123.5, "number", lifecycle.MicrosOf(at) + 500},
		{int64(1) << 62, "number", maxMillis * 1000},
		{int64(-5), "number", 0},
		{at, "timestamp", lifecycle.MicrosOf(at)},
		{"1700000000123", "", 0}, {nil, "", 0}, {true, "", 0},
	} {
		for _, s := range scales() {
			got, ok := s.read(tt.value)
			if ok != (s.name == tt.scale) || (ok && got != tt.want) {
				t.Errorf("%s reads %v as %d, %v", s.name, tt.value, got, ok)
			}
		}
	}
	for _, s := range scales() {
		if got, ok := s.read(s.value(lifecycle.MicrosOf(at))); !ok || got != lifecycle.MicrosOf(at) {
			t.Errorf("%s writes %v as %v", s.name, at, s.value(lifecycle.MicrosOf(at)))
		}
	}
}
