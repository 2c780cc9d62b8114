package dlqtriage

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fleetglass/lifecycle"
)

// said is a text and what it is.
type said struct {
	text string
	want Class
}

// readReasons reads the table of testdata/reasons.txt.
func readReasons(t testing.TB) (out []said) {
	t.Helper()
	file, err := os.ReadFile("testdata/reasons.txt")
	if err != nil {
		t.Fatal(err)
	}
	var want Class
	for _, line := range strings.Split(string(file), "\n") {
		if head, ok := strings.CutPrefix(line, "== "); ok {
			want = ClassOf("", head)
			if c := Category(head); c.Known() {
				want = ClassOf(c, "")
			}
			continue
		}
		if line != "" && !strings.HasPrefix(line, "#") {
			out = append(out, said{strings.ReplaceAll(line, `\n`, "\n"), want})
		}
	}
	return out
}

func TestWhatAMessageDiedOfIsReadFromItsText(t *testing.T) {
	t.Parallel()
	table := readReasons(t)
	unclassified := 0
	for _, row := range table {
		if row.want.Category == Unclassified {
			unclassified++
		}
		for source, e := range map[Source]Evidence{
			SourceTerm: {Term: row.text}, SourceReported: {Reported: row.text}, SourceText: {Texts: []string{row.text}},
		} {
			got := DefaultPolicy().Classify(e)
			if got.Class != row.want {
				t.Errorf("%s %q:\n got %v by %q %v\nwant %v", source, row.text, got.Class, got.Rule, got.Evidence, row.want)
			}
			if (got.Category == Unclassified) != (got.Rule == "") || (got.Rule == "") != (len(got.Evidence) == 0) {
				t.Errorf("%q: rule %q and evidence %v do not belong to %v", row.text, got.Rule, got.Evidence, got.Class)
			}
		}
	}
	if len(table) < 150 || unclassified < 30 {
		t.Errorf("the table has %d texts, %d of them unclassified; want at least 150 and 30", len(table), unclassified)
	}
}

func TestEveryDetailAndEveryRuleIsInTheTable(t *testing.T) {
	t.Parallel()
	details, rules := map[string]int{}, map[string]int{}
	for _, row := range readReasons(t) {
		v := DefaultPolicy().Classify(Evidence{Reported: row.text})
		details[v.Detail]++
		rules[v.Rule]++
	}
	for _, d := range Details() {
		if details[d.Detail] < 5 {
			t.Errorf("%s has %d texts", d.Detail, details[d.Detail])
		}
	}
	for _, r := range DefaultPolicy().Rules {
		if rules[r.Name] == 0 && r.Header == "" {
			t.Errorf("no text of the table is matched by the rule %q", r.Name)
		}
	}
}

func TestSourcesAreBelievedInTheirOrder(t *testing.T) {
	t.Parallel()
	all := Evidence{
		Headers:  map[string][]string{"X-DLQ-Detail": {"node_preemption"}},
		Term:     "context_length_exceeded",
		Reported: "getaddrinfo ENOTFOUND a",
		Status:   429,
		Texts:    []string{"permission denied"},
	}
	steps := []struct {
		without func(*Evidence)
		want    string
		source  Source
	}{
		{func(*Evidence) {}, NodePreemption, SourceHeader},
		{func(e *Evidence) { e.Headers = nil }, ContextWindowOverflow, SourceTerm},
		{func(e *Evidence) { e.Term = "gave up" }, NetworkTransient, SourceReported},
		{func(e *Evidence) { e.Reported = "" }, LLMProviderRateLimit, SourceStatus},
		{func(e *Evidence) { e.Status = 418 }, AuthorityExceeded, SourceText},
		{func(e *Evidence) { e.Texts = []string{"oops"} }, "", ""},
	}
	for i, s := range steps {
		s.without(&all)
		v := DefaultPolicy().Classify(all)
		if v.Detail != s.want {
			t.Errorf("step %d: got %v by %q, want %q", i, v.Class, v.Rule, s.want)
		}
		if s.source != "" && v.Evidence[0].Source != string(s.source) {
			t.Errorf("step %d: evidence %v, want the source %s", i, v.Evidence, s.source)
		}
	}
}

func TestAHeaderOfAnotherMonitorCounts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		header map[string][]string
		want   Verdict
	}{
		{"category", map[string][]string{"X-Dlq-Category": {"Permanent"}},
			Verdict{Class{Permanent, "", ""}, "header-category", []lifecycle.Evidence{{Source: "header", Text: "Permanent"}}}},
		{"both", map[string][]string{"X-DLQ-Category": {"permanent"}, "X-DLQ-Detail": {"model_confusion"}},
			Verdict{Class{ConditionallyRecoverable, ModelConfusion, KindLogic}, "header-detail", []lifecycle.Evidence{{Source: "header", Text: "model_confusion"}}}},
		{"words of its own", map[string][]string{"X-DLQ-Category": {"weird"}, "X-DLQ-Detail": {"cosmic_rays"}}, Verdict{Class: Class{Category: Unclassified}}},
		{"unclassified", map[string][]string{"X-DLQ-Category": {"unclassified"}}, Verdict{Class: Class{Category: Unclassified}}},
	} {
		if diff := cmp.Diff(c.want, DefaultPolicy().Classify(Evidence{Headers: c.header})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestAReportedStatusIsReadWithItsCompany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		text   string
		want   string
	}{
		{429, "", LLMProviderRateLimit}, {529, "", LLMProviderTimeout}, {503, "", LLMProviderTimeout}, {429, "calling github", GitHubAPIRateLimit},
		{403, "calling github", GitHubAPIRateLimit}, {403, "github: scope", AuthorityExceeded}, {403, "calling the CMS", ""}, {500, "", ""},
		{500, "calling claude", LLMProviderTimeout}, {502, "", NetworkTransient}, {418, "", ""},
	} {
		v := DefaultPolicy().Classify(Evidence{Status: c.status, Texts: []string{c.text}})
		if v.Detail != c.want {
			t.Errorf("%d %q: got %v by %q, want %q", c.status, c.text, v.Class, v.Rule, c.want)
		}
	}
}

func TestEvidenceIsShortAndValidText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 50_000) + " context_length_exceeded " + strings.Repeat("\xff", 1500)
	v := DefaultPolicy().Classify(Evidence{Reported: long})
	if v.Detail != ContextWindowOverflow || len(v.Evidence) != 1 {
		t.Fatalf("got %v", v)
	}
	text := v.Evidence[0].Text
	if len(text) > 2000 || !strings.Contains(text, "context_length_exceeded") || strings.ToValidUTF8(text, "") != text {
		t.Errorf("evidence %q", text)
	}
}

func FuzzClassify(f *testing.F) {
	for _, row := range readReasons(f) {
		f.Add(row.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v := DefaultPolicy().Classify(Evidence{Term: text, Texts: []string{text}})
		if !v.Category.Known() {
			t.Errorf("%q: category %q", text, v.Category)
		}
	})
}
