package dlqtriage_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"fleetglass/dlqtriage"
)

func TestReasonsOfOneCauseHaveOneFingerprint(t *testing.T) {
	t.Parallel()
	for want, reasons := range map[string][]string{
		"anthropic: overloaded, status #, retry after #s": {
			"Anthropic: overloaded, status 529, retry after 12s", "anthropic:  overloaded, status 529,\nretry after 3.5s",
		},
		"context length exceeded: # tokens > #": {"context length exceeded: 214,311 tokens > 180,000", "Context length exceeded: 190001 tokens > 180000"},
		"post <address> dial tcp <host>: i/o timeout": {
			"Post https://api.github.com/repos/x/pulls/12 dial tcp 140.82.121.6:443: i/o timeout",
			"post http://proxy/y dial tcp 10.0.0.1:80: i/o timeout",
		},
		"task <id> refused at <time>": {
			"task 7f6c1f0e-3c1b-4b8e-9d0a-0a4b1c2d3e4f refused at 2026-03-01T10:20:30.123Z", "task req_8fe2c91 refused at 2026-03-02 11:00:00",
		},
		"no such file <text> in commit #": {"no such file \"a.go\" in commit 9f8e7d6c5b4a", "no such file 'b/c.go' in commit 03fb54b"},
		"no checksum of customer #": {
			"no checksum of customer de36b2dc", "no checksum of customer 93439402", "no checksum of customer 1234567c", "no checksum of customer abcdef1",
			"no checksum of customer 0xdeadbeef", "no checksum of customer 0.1234567",
		},
		"the facade decoded # of #": {"the facade decoded 3 of 7", "the facade decoded 190001 of 1e94c2"},
		dlqtriage.NoReason:          {"", "  \n"},
	} {
		for _, r := range reasons {
			if got := dlqtriage.Fingerprint(r); got != want {
				t.Errorf("Fingerprint(%q) = %q, want %q", r, got, want)
			}
		}
	}
}

func TestDifferentLongReasonsHaveDifferentFingerprints(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("the worker says nothing new ", 40)
	a, b := dlqtriage.Fingerprint(long+"here"), dlqtriage.Fingerprint(long+"there")
	if a == b || !strings.HasPrefix(a, "the worker says") {
		t.Errorf("fingerprints %q and %q of two reasons that differ at their ends", a, b)
	}
	if n := utf8.RuneCountInString(a); n > 180 {
		t.Errorf("a fingerprint of %d runes", n)
	}
}

func FuzzFingerprint(f *testing.F) {
	f.Add("status 529 \"x\"")
	f.Fuzz(func(t *testing.T, reason string) {
		got := dlqtriage.Fingerprint(reason)
		if got == "" || utf8.RuneCountInString(got) > 180 || (utf8.ValidString(reason) && !utf8.ValidString(got)) {
			t.Errorf("Fingerprint(%q) = %q", reason, got)
		}
	})
}
