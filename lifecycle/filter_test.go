package lifecycle

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestQueryGrammar(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		query string
		want  Filter
	}{
		{"", Filter{}},
		{"agent:marketing state:failed", Filter{Agents: []string{"marketing"}, States: []State{StateFailed}}},
		{"agent:b agent:a agent:b", Filter{Agents: []string{"a", "b"}}},
		{`launch "blog post"`, Filter{Words: []string{"blog post", "launch"}}},
		{`type:"odd \"type\""`, Filter{Types: []string{`odd "type"`}}},
		{"http://x.test", Filter{Words: []string{"http://x.test"}}},
		{"id:task-* has:duplicate", Filter{IDs: []string{"task-*"}, Duplicates: true}},
		{"from:1h", Filter{From: MicrosOf(noon.Add(-time.Hour))}},
		{"from:7d to:2026-11-20", Filter{From: MicrosOf(noon.AddDate(0, 0, -7)), To: MicrosOf(noon.Truncate(24 * time.Hour))}},
		{"anomaly:late_ack sort:published", Filter{Anomalies: []AnomalyCode{AnomalyLateAck}, Sort: SortPublished}},
	} {
		tc.want.normalize()
		got, err := ParseQuery(tc.query, noon)
		if err != nil {
			t.Errorf("ParseQuery(%q): %v", tc.query, err)
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("ParseQuery(%q) (-want +got):\n%s", tc.query, d)
		}
	}
}

func TestBadFiltersNameTheirParameter(t *testing.T) {
	t.Parallel()
	for parameter, query := range map[string]string{
		"state": "state=done", "from": "from=yesterday-ish", "to": "to=-1", "sort": "sort=size", "anomaly": "anomaly=odd", "has": "has=luck", "q": `q="open`,
	} {
		v, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ParseFilter(v, noon)
		var wrong *FilterError
		if !errors.As(err, &wrong) || wrong.Parameter != parameter {
			t.Errorf("ParseFilter(%s) = %v, want an error about %s", query, err, parameter)
		}
	}
}

func FuzzFilterRoundTrip(f *testing.F) {
	for _, q := range []string{"", `agent:marketing state:failed type:content_creation id:T1 word`, `"a \" b" type:"x y"`, "from:1h to:2026-01-01", `id:"\\"`, "a:b q:c \u00a0"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, q string) {
		first, err := ParseQuery(q, noon)
		if err != nil {
			return
		}
		fromValues, err := ParseFilter(first.Values(), noon)
		if err != nil {
			t.Fatalf("Values of %q do not parse: %v", q, err)
		}
		if d := cmp.Diff(first, fromValues); d != "" {
			t.Fatalf("values of %q (-want +got):\n%s", q, d)
		}
		fromQuery, err := ParseQuery(first.Query(), noon)
		if err != nil {
			t.Fatalf("Query %q of %q does not parse: %v", first.Query(), q, err)
		}
		if d := cmp.Diff(first, fromQuery); d != "" {
			t.Fatalf("query %q of %q (-want +got):\n%s", first.Query(), q, d)
		}
	})
}

func FuzzKeyRoundTrip(f *testing.F) {
	f.Add("", "", "TASKS", int64(0), uint64(1))
	f.Add("A", "hub", "TASKS", int64(1700000000000000), uint64(1<<63))
	f.Add("A", "", "T~5", int64(3), ^uint64(0))
	f.Fuzz(func(t *testing.T, account, domain, name string, epoch int64, seq uint64) {
		if name == "" || seq == 0 || epoch < 0 || strings.ContainsAny(account+domain+name, "/") || (epoch == 0 && strings.Contains(name, "~")) {
			return // Names that no broker accepts, or that only a re-created stream could be confused with.
		}
		k := MessageKey{Stream: StreamID{Account: account, Domain: domain, Name: name, Epoch: Micros(epoch)}, Seq: seq}
		got, err := ParseMessageKey(k.String())
		if err != nil || got != k {
			t.Fatalf("ParseMessageKey(%q) = %v, %v, want %v", k.String(), got, err, k)
		}
	})
}

func TestAFilterHasABudget(t *testing.T) {
	t.Parallel()
	words := ""
	for n := range MaxFilterWords {
		words += fmt.Sprintf("w%d ", n)
	}
	var agents []string
	for n := range MaxFilterValues {
		agents = append(agents, fmt.Sprintf("agent-%d", n))
	}
	if _, err := ParseFilter(url.Values{"q": {words}, "agent": agents}, time.Now()); err != nil {
		t.Errorf("as much as there may be: %v", err)
	}
	for parameter, v := range map[string]url.Values{
		"q":     {"q": {words + "one-more"}},
		"agent": {"agent": append(agents, "one-more")},
		"id":    {"q": {"id:" + strings.Repeat("x", MaxFilterText+1)}},
	} {
		var wrong *FilterError
		if _, err := ParseFilter(v, time.Now()); !errors.As(err, &wrong) || wrong.Parameter != parameter {
			t.Errorf("%s: got %v, want an error that names it", parameter, err)
		}
	}
	if _, err := ParseFilter(url.Values{"q": {strings.Repeat("same ", 1000)}}, time.Now()); err != nil {
		t.Errorf("one word a thousand times is one word: %v", err)
	}
}
