package views

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"fleetglass/lifecycle"
)

// Approximately writes a duration that was read from a sketch: at most a fifth above the true one.
func Approximately(d time.Duration) string { return "≈ " + lifecycle.Lasting(d) }

// milliseconds writes a short span with the fractions that tell such spans apart: 0.42 ms, 2.4 ms, 57 ms; from a second like [lifecycle.Lasting],
// and nothing for none.
func milliseconds(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case d <= 0:
		return ""
	case d >= time.Second:
		return lifecycle.Lasting(d)
	case ms >= 10:
		return fmt.Sprintf("%.0f ms", ms)
	case ms >= 1:
		return fmt.Sprintf("%.1f ms", ms)
	default:
		return fmt.Sprintf("%.2g ms", ms)
	}
}

// Age writes how long something is past, in one unit: 3 s, 22 m, 5 h, 4 d.
func Age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "0 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d m", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}

// AgoWords write how long ago something was: now, 3 s ago, 22 m ago.
func AgoWords(d time.Duration) string {
	if d < time.Second {
		return "now"
	}
	return Age(d) + " ago"
}

// until writes how long it is until something is due: as [Age] within an hour, else as a duration. "In 1 h" would be said of 119 minutes.
func until(d time.Duration) string {
	if d < time.Hour {
		return Age(d)
	}
	return lifecycle.Lasting(d.Truncate(time.Minute))
}

// Count writes a number with thousands separated: 26,147.
func Count(n int64) string { return lifecycle.Grouped(n) }

// USD writes an amount of dollars: $0.30, $1,610.00.
func USD(amount float64) string {
	if amount > 0 && amount < 0.005 {
		return "under $0.01"
	}
	cents := int64(math.Round(amount * 100))
	return fmt.Sprintf("$%s.%02d", Count(cents/100), cents%100)
}

// Bytes writes a size: 812 B, 4.1 kB, 5.0 MB.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1_000_000)
}

// Cut shortens text to at most n runes and makes it valid UTF-8 without control characters, for places with no room.
func Cut(s string, n int) string {
	s = Printable(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// breaks cuts a text where a line may be broken within a name: behind its underscores and dots.
func breaks(text string) []string {
	var out []string
	for from := 0; ; {
		at := strings.IndexAny(text[from:], "_.")
		if at < 0 || from+at+1 == len(text) {
			return append(out, text[from:])
		}
		out = append(out, text[from:from+at+1])
		from += at + 1
	}
}

// Printable replaces what is not valid UTF-8 and makes control and direction-changing characters visible or harmless, so that
// untrusted text cannot rearrange the line it stands in.
func Printable(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ':
			return 0x2400 + r // ␀ and its neighbours: control pictures.
		case r == 0x7f:
			return 0x2421
		case r >= 0x80 && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f:
			return utf8.RuneError
		}
		return r
	}, s)
}

// Plural picks the word for a number.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// numbered is a count with its word: 1 task, 12 tasks.
func numbered(n int64, one, many string) string { return Count(n) + " " + Plural(n, one, many) }

// often writes how many times something happened: "once", "2 times".
func often(n int64) string {
	if n == 1 {
		return "once"
	}
	return Count(n) + " times"
}

// pct writes a coordinate of an SVG as percent of its width.
func pct(f float64) string { return strconv.FormatFloat(math.Round(f*10000)/100, 'f', -1, 64) + "%" }

// place writes a place on an axis that may be stretched a thousandfold, as percent of its width.
func place(f float64) string { return strconv.FormatFloat(math.Round(f*1e7)/1e5, 'f', -1, 64) + "%" }

// fraction writes such a place for scripts.
func fraction(f float64) string { return strconv.FormatFloat(math.Round(f*1e7)/1e7, 'f', -1, 64) }

// px writes a coordinate of an SVG in pixels.
func px(f float64) string { return strconv.FormatFloat(math.Round(f*10)/10, 'f', -1, 64) }

func (e Env) local(at lifecycle.Micros) time.Time { return at.Time().In(e.Zone) }

// absolute is the whole instant with its zone, for tooltips.
func (e Env) absolute(at lifecycle.Micros) string {
	return e.local(at).Format("2006-01-02 15:04:05.000") + " " + e.zoneName(at)
}

// zoneName is UTC, or an abbreviation, or the offset where the zone has none.
func (e Env) zoneName(at lifecycle.Micros) string {
	name, _ := e.local(at).Zone()
	if name == "" || name[0] == '+' || name[0] == '-' {
		return "UTC" + e.local(at).Format("-07:00")
	}
	return name
}

func (e Env) ago(at lifecycle.Micros) string {
	d := e.Now.Sub(at)
	if d < -time.Second {
		return "in " + until(-d)
	}
	return AgoWords(d)
}

// due is [Env.ago] of an instant that lies ahead: what is due then has not happened because the time has come.
func (e Env) due(at lifecycle.Micros) string {
	if e.Now.Sub(at) >= time.Second {
		return "(due)"
	}
	return e.ago(at)
}

// machine is the instant for <time datetime>.
func machine(at lifecycle.Micros) string { return at.Time().Format("2006-01-02T15:04:05.000Z") }
