package views

import (
	"context"
	"strings"
	"testing"
	"time"

	"fleetglass/lifecycle"
)

func TestAgesReadWell(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{0: "0 s", 3 * time.Second: "3 s", 22 * time.Minute: "22 m", 47 * time.Hour: "47 h", 100 * time.Hour: "4 d"} {
		if got := Age(d); got != want {
			t.Errorf("Age(%v): got %q, want %q", d, got, want)
		}
	}
}

func TestCountsAndSizesReadWell(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 26147: "26,147", 1234567: "1,234,567", -1234: "−1,234"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d): got %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{812: "812 B", 4096: "4.1 kB", 5_000_000: "5.0 MB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d): got %q, want %q", n, got, want)
		}
	}
}

func TestUntrustedTextCannotRearrangeItsLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain": "plain", "a\nb": "a␊b", "\x00": "␀", "abc\u202Egnp.exe": "abc\uFFFDgnp.exe", "\xff": "\uFFFD", "x\u2066y": "x\uFFFDy", "\u0085": "\uFFFD", "naïve 日本": "naïve 日本",
	} {
		if got := Printable(in); got != want {
			t.Errorf("Printable(%q): got %q, want %q", in, got, want)
		}
	}
	if got := Cut("0123456789", 5); got != "0123…" {
		t.Errorf("Cut: got %q", got)
	}
}

func TestTimesAreWrittenInTheReadersZone(t *testing.T) {
	t.Parallel()
	kolkata, err := time.LoadLocation("Asia/Kolkata")
	if err != nil {
		t.Fatal(err)
	}
	now := lifecycle.MicrosOf(time.Date(2026, 11, 20, 2, 51, 20, 131e6, time.UTC))
	ctx := With(context.Background(), Env{Asset: func(s string) string { return s }, Zone: kolkata, Now: now.Add(22 * time.Minute)})
	var b strings.Builder
	if err := Ago(now).Render(ctx, &b); err != nil {
		t.Fatal(err)
	}
	const want = `<time datetime="2026-11-20T02:51:20.131Z" title="2026-11-20 08:21:20.131 IST" data-ago>22 m ago</time>`
	if b.String() != want {
		t.Errorf("got %s\nwant %s", b.String(), want)
	}
}

func TestEveryStateAndKindLooksLikeItself(t *testing.T) {
	t.Parallel()
	seen := map[look]lifecycle.State{}
	for _, s := range lifecycle.States() {
		l := stateLook(s)
		if other, taken := seen[l]; taken || l.Icon == "" || l.Tone == "" || l.Word == "" {
			t.Errorf("state %s looks like %q: %v", s, other, l)
		}
		seen[l] = s
	}
	shapes := map[string]bool{}
	for _, s := range lifecycle.States() {
		if icon := stateLook(s).Icon; shapes[icon] {
			t.Errorf("state %s has no shape of its own", s)
		} else {
			shapes[icon] = true
		}
	}
	for _, k := range lifecycle.StaleKinds() {
		if l := staleLook(k); l.Word == "healthy" {
			t.Errorf("stale kind %s looks healthy", k)
		}
	}
}

func TestShortSpansKeepTheirFractions(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "", -time.Second: "", time.Microsecond: "0.001 ms", 412 * time.Microsecond: "0.41 ms", 2380 * time.Microsecond: "2.4 ms",
		57_300 * time.Microsecond: "57 ms", 1500 * time.Millisecond: "1.5 s",
	} {
		if got := milliseconds(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestATimeThatIsDueInHoursSaysItsMinutes(t *testing.T) {
	t.Parallel()
	now := lifecycle.MicrosOf(time.Date(2026, 11, 20, 3, 14, 0, 0, time.UTC))
	for due, want := range map[time.Duration]string{
		29 * time.Second: "in 29 s", 59 * time.Minute: "in 59 m", 89*time.Minute + 59*time.Second: "in 1h 29m", 2*time.Hour + 9*time.Second: "in 2 h", 50 * time.Hour: "in 2d 2h", -89 * time.Minute: "1 h ago",
	} {
		if got := (Env{Now: now}).ago(now.Add(due)); got != want {
			t.Errorf("due in %v: got %q, want %q", due, got, want)
		}
	}
}
