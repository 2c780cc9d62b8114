package main

import (
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Secret is text that never shows itself in logs, in errors or in the effective configuration. Reveal gives it.
type Secret string

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String hides the text, and says whether there is any.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[redacted]"
}

// GoString hides the text in %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the text in JSON and in logs.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// URL is an address that may hold a password, which it hides like a [Secret].
type URL string

// Reveal returns the address with its password.
func (u URL) Reveal() string { return string(u) }

// String is the address without its password.
func (u URL) String() string {
	parsed, err := url.Parse(string(u))
	if err != nil {
		return Secret(u).String()
	}
	if parsed.User != nil {
		if _, has := parsed.User.Password(); !has && !strings.HasPrefix(parsed.Scheme, "postgres") {
			parsed.User = url.User("xxxxx") // A token in the place of the user.
		}
	}
	if q := parsed.Query(); q.Has("password") {
		q.Set("password", "xxxxx")
		parsed.RawQuery = q.Encode()
	}
	return parsed.Redacted()
}

// GoString hides the password in %#v.
func (u URL) GoString() string { return u.String() }

// MarshalText hides the password in JSON and in logs.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// Duration is a time span, never negative; beside Go's units it knows days: 30d, 1d12h.
type Duration time.Duration

// UnmarshalText reads the form that String writes.
func (d *Duration) UnmarshalText(text []byte) error {
	s := string(text)
	var days time.Duration
	if head, tail, ok := strings.Cut(s, "d"); ok {
		n, err := strconv.ParseUint(head, 10, 16)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 30d, 12h or 5s", text)
		}
		days, s = time.Duration(n)*24*time.Hour, tail
	}
	if s == "" && days > 0 {
		*d = Duration(days)
		return nil
	}
	rest, err := time.ParseDuration(s)
	if err != nil || rest < 0 || days+rest < 0 {
		return fmt.Errorf("%q is not a duration such as 30d, 12h or 5s", text)
	}
	*d = Duration(days + rest)
	return nil
}

// String is the span as somebody would set it, in days and Go's units: 30d, 1d12h, 12h, 5m, 1m30s, 0s.
func (d Duration) String() string {
	const day = 24 * time.Hour
	days, span := time.Duration(d)/day, time.Duration(d)%day
	if d == 0 {
		return "0s"
	}
	rest := span.String()
	if span%time.Minute == 0 { // 5m0s, 12h0m0s: what is zero goes.
		rest = strings.TrimSuffix(rest, "0s")
	}
	if span%time.Hour == 0 {
		rest = strings.TrimSuffix(rest, "0m")
	}
	switch {
	case days == 0:
		return rest
	case span == 0:
		return fmt.Sprintf("%dd", days)
	}
	return fmt.Sprintf("%dd%s", days, rest)
}

// ByteSize is a number of bytes, written as 512kB, 4MB or 1GB (powers of 1000) or as a plain number.
type ByteSize int64

var byteUnits = []struct {
	name string
	size float64
}{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"KB", 1e3}, {"B", 1}, {"", 1}}

// UnmarshalText reads the form that String writes.
func (b *ByteSize) UnmarshalText(text []byte) error {
	for _, unit := range byteUnits {
		number, ok := strings.CutSuffix(string(text), unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n >= 0) || n*unit.size > math.MaxInt64/2 {
			break
		}
		*b = ByteSize(n * unit.size)
		return nil
	}
	return fmt.Errorf("%q is not a size such as 512kB, 4MB or 1GB", text)
}

// String is the size in the largest unit that divides it.
func (b ByteSize) String() string {
	for _, unit := range byteUnits {
		if unit.size > 1 && b != 0 && int64(b)%int64(unit.size) == 0 {
			return strconv.FormatInt(int64(b)/int64(unit.size), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(b), 10)
}
