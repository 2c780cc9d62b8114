package lifecycle

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
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
		{"-agent:cto -state:completed -word", Filter{Not: Exclusion{Agents: []string{"cto"}, States: []State{StateCompleted}, Words: []string{"word"}}}},
		{`-"two words" -has:duplicate`, Filter{Not: Exclusion{Words: []string{"two words"}, Duplicates: true}}},
		{`"-kept" - "" agent:""`, Filter{Words: []string{"-", "-kept"}}},
		{"attempt:>1", Filter{Attempt: Bounds{Least: Bound{1, true, true}}}},
		{"attempt:>=2 attempt:<5", Filter{Attempt: Bounds{Least: Bound{2, true, false}, Most: Bound{5, true, true}}}},
		{"attempt:3", Filter{Attempt: Bounds{Least: Bound{3, true, false}, Most: Bound{3, true, false}}}},
		{"-attempt:>1", Filter{Attempt: Bounds{Most: Bound{1, true, false}}}},
		{"duration:>30s", Filter{Ran: RunTime{Bounds{Least: Bound{30_000_000, true, true}}, MicrosOf(noon)}}},
		{"cost:>0.5", Filter{Cost: Bounds{Least: Bound{500_000, true, true}}}},
		{"-cost:>=0.25", Filter{Cost: Bounds{Most: Bound{250_000, true, true}}}},
		{"published:<2h", Filter{Published: Bounds{Least: Bound{int64(MicrosOf(noon.Add(-2 * time.Hour))), true, true}}}},
		{"published:<=2026-11-20", Filter{Published: Bounds{Most: Bound{int64(MicrosOf(noon.Truncate(24 * time.Hour))), true, false}}}},
		{"TASKS:255 -hub/TASKS:7", Filter{Messages: []string{"TASKS:255"}, Not: Exclusion{Messages: []string{"hub/TASKS:7"}}}},
		{`"TASKS:255" plain:r1 error: x`, Filter{Words: []string{"TASKS:255", "error:", "plain:r1", "x"}}},
		{"sort:-cost", Filter{Sort: SortCostDesc}},
		{"cost:<2 sort:cost", Filter{Cost: Bounds{Most: Bound{2_000_000, true, true}}, Sort: SortCost}},
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
		"state": "state=done", "attempt": "q=attempt:many", "cost": "q=cost:-1", "duration": "q=duration:30s", "published": "q=published:2h", "message": "q=message:255", "agent": "q=agent:%3Ex", "from": "from=yesterday-ish", "to": "to=-1", "sort": "sort=size", "anomaly": "anomaly=odd", "has": "has=luck", "q": `q="open`,
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

func TestABadFilterNamesEachWrongParameterOnce(t *testing.T) {
	t.Parallel()
	_, err := ParseFilter(url.Values{"state": {"lost", "gone", "failed"}, "q": {"attempt:many cost:-1 agent:cto"}, "from": {"soon"}, "to": {"late"}, "sort": {"size"}}, noon)
	var got []string
	for _, wrong := range FilterErrors(err) {
		got = append(got, wrong.Parameter)
	}
	if want := []string{"attempt", "cost", "state", "from", "to", "sort"}; !slices.Equal(got, want) {
		t.Errorf("named %q, want %q", got, want)
	}
}

func TestAnErrorNamesTheChoicesOnce(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"stat:failed":           `q: has no field "stat"; did you mean state? The fields are agent, anomaly, attempt, category, cost, duration, from, has, id, layer, message, published, publisher, sort, state, stream, to, type.`,
		"flavour:vanilla":       `q: has no field "flavour". The fields are agent,`,
		"status:429":            `did you mean state?`,
		"state:complete":        `state: "complete" is not a state; did you mean completed? Choose one of published, delivered,`,
		"-state:zzz":            `state: "zzz" is not a state. Choose one of`,
		"agent: x":              `agent: has no value.`,
		"-from:1h":              `from: cannot be excluded`,
		"attempt:>5 attempt:<2": `attempt: has two bounds that nothing can meet`,
		"-cost:1":               `cannot exclude one amount`,
		"cost:>NaN":             `"NaN" is not an amount in USD; write cost:>0.5`,
		"duration:>30":          `with a unit`,
		`state:"failed`:         `q: has a quote that is not closed`,
	} {
		_, err := ParseQuery(query, noon)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseQuery(%q) = %v, want an error with %q", query, err, want)
			continue
		}
		if strings.Count(err.Error(), "outcome_unknown") > 1 || strings.Count(err.Error(), "category,") > 1 {
			t.Errorf("ParseQuery(%q) names the choices twice: %v", query, err)
		}
	}
}

func FuzzFilterRoundTrip(f *testing.F) {
	for _, q := range []string{"", `agent:marketing state:failed type:content_creation id:T1 word`, `"a \" b" type:"x y"`, "from:1h to:2026-01-01", `id:"\\"`, "a:b q:c \u00a0",
		`-agent:cto -"a b" -x attempt:>1 attempt:<=4 cost:>0.5 cost:<=2 -duration:>1h30m published:<2h TASKS:255 -T:1 agent:"<x"`, "published:>=2026-01-01T10:00 -- -\"-x\" a:r1"} {
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
