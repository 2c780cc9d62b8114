package fleet

import (
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"fleetglass/lifecycle"
)

// TaskName is the id under which a task is kept that its publisher named so: the name itself where it is fit to be a key, else a form of it that ends
// in a hash of the whole.
func TaskName(id string) string { return cleanID(id) }

// IsMadeName reports whether a task may be kept under another name than its publisher gave it: one that [TaskName] made looks so.
func IsMadeName(id string) bool { return madeName.MatchString(id) }

var madeName = regexp.MustCompile(`~[0-9a-f]{12}$`)

// cleanID makes an untrusted id fit to be a key: valid UTF-8, no control characters, bounded. An id that had to be changed, or that has characters that nobody
// sees, gets a hash of the original, so that two different ones stay different, and look it.
func cleanID(id string) string {
	id = strings.TrimSpace(id)
	if len(id) <= maxIDBytes && (isPlain(id) || (utf8.ValidString(id) && !strings.ContainsFunc(id, unsafeRune) && !strings.ContainsFunc(id, unseenRune))) {
		return id
	}
	mark := "~" + Fingerprint([]byte(id))[:12]
	kept := oneLine(id, maxIDBytes)
	for len(kept)+len(mark) > maxIDBytes {
		_, size := utf8.DecodeLastRuneInString(kept)
		kept = kept[:len(kept)-size]
	}
	return kept + mark
}

// oneLine makes untrusted text fit for one line: valid UTF-8, runs of space collapsed, control and direction-changing characters
// dropped, and no longer than limit runes, with an ellipsis where it was cut.
func oneLine(text string, limit int) string {
	if len(text) <= limit && isPlain(text) && text == strings.TrimSpace(text) && !strings.Contains(text, "  ") {
		return text
	}
	var b strings.Builder
	var runes int
	space := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case unsafeRune(r):
			continue
		}
		if space {
			b.WriteByte(' ')
			runes++
			space = false
		}
		if runes++; runes > limit {
			return cutRunes(b.String(), limit-1) + "…"
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isPlain reports whether a text is printable ASCII, as nearly all are: nothing in it has to be looked at more closely.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}

func cutRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return strings.TrimRight(s[:i], " ")
		}
		n--
	}
	return s
}

// unseenRune reports whether a character shows as nothing.
func unseenRune(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

// traceParent returns a W3C trace context header in lower case, or nothing when it is malformed.
func traceParent(text string) string {
	text = strings.ToLower(strings.TrimSpace(text))
	parts := strings.Split(text, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || len(parts[1]) != 32 || len(parts[2]) != 16 || len(parts[3]) != 2 {
		return ""
	}
	for _, p := range parts[:4] {
		if strings.Trim(p, "0123456789abcdef") != "" {
			return ""
		}
	}
	if parts[0] == "ff" || strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return ""
	}
	return strings.Join(parts[:4], "-")
}

// ParseInstant reads an instant as programs write it: RFC 3339, or a number of seconds, milliseconds, microseconds or
// nanoseconds since the Unix epoch, told apart by magnitude. What it cannot read, or what lies outside the years 1970 to 9999, is
// unknown.
func ParseInstant(text string) lifecycle.Micros {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 64 {
		return 0
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return plausible(float64(t.UnixMicro()), t.UnixMicro())
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return instantOf(float64(n), n)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return instantOf(f, 0)
	}
	return 0
}

func instantOf(f float64, n int64) lifecycle.Micros {
	switch {
	case f < 1e11:
		return plausible(f*1e6, n*1e6)
	case f < 1e14:
		return plausible(f*1e3, n*1e3)
	case f < 1e17:
		return plausible(f, n)
	}
	return plausible(f/1e3, n/1e3)
}

// plausible takes the exact integer where there is one.
func plausible(f float64, n int64) lifecycle.Micros {
	const endOf9999 = 253402300799e6
	if !(f > 0 && f <= endOf9999) {
		return 0
	}
	if n != 0 {
		return lifecycle.Micros(n)
	}
	return lifecycle.Micros(f)
}
