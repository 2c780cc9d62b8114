//go:build linux

package bench

import (
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// bench is one invocation: what is to be measured and what was.
type bench struct {
	*testing.T
	form   form
	report *Report
	shared *shared
}

// row is a measurement, which may give several results.
type row struct {
	name    string
	measure func(b *bench)
}

// rows in the order in which they are measured: what fills the machine's memory and disk comes late.
var rows = []row{
	{"ingest", measureIngest},
	{"shards", measureShards},
	{"saturated", measureSaturated},
	{"fresh", measureFreshness},
	{"answers", measureAnswers},
	{"actions", measureActions},
	{"operations", measureOperations},
	{"inflight", measureInFlight},
	{"history", measureHistory},
	{"reads", measureReads},
	{"memory", measureMemory}, // Brings the recorded broker to the history, which the rows below then use.
	{"pages", measurePages},
	{"start", measureStart},
}

// TestRows measures every row that -rows selects and prints the table. Figures are reported, never judged: only what is wrong fails it.
func TestRows(t *testing.T) {
	f, known := forms[*flagForm]
	if !known {
		t.Fatalf("form %q: want smoke, quick or long", *flagForm)
	}
	if f.name = *flagForm; *flagEvents > 0 {
		f.events = *flagEvents
	}
	if *flagPostgres > 0 {
		f.postgres = *flagPostgres
	}
	if *flagTasks > 0 {
		f.tasks = *flagTasks
	}
	selected, err := regexp.Compile(*flagRows)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, form: f, report: newReport(f), shared: &shared{t: t, root: t.TempDir()}}
	for _, r := range rows {
		if !selected.MatchString(r.name) {
			continue
		}
		began := time.Now()
		t.Run(r.name, func(t *testing.T) {
			r.measure(&bench{T: t, form: f, report: b.report, shared: b.shared})
		})
		b.shared.took(r.name, time.Since(began))
	}
	b.publish()
}

// add notes results, and says them at once: a long run is followed by people.
func (b *bench) add(results ...Result) {
	b.Helper()
	for _, r := range results {
		b.report.Results = append(b.report.Results, r)
		b.Logf("%-28s %s %s, ratio %s, met: %s  %s", r.Name, figure(r.Value), r.Unit, optional(r.Ratio), r.verdict(), r.Note)
	}
}

func (b *bench) publish() {
	b.Helper()
	if b.form.name == "smoke" {
		return
	}
	if err := WriteTable(os.Stdout, *b.report); err != nil {
		b.Error(err)
	}
	b.Log(b.shared.times())
	if *flagJSON != "" {
		if err := WriteReport(*flagJSON, *b.report); err != nil {
			b.Error(err)
		}
	}
	if *flagCompare == "" {
		return
	}
	before, err := ReadReport(*flagCompare)
	if err != nil {
		b.Fatal(err)
	}
	if err := WriteComparison(os.Stdout, before, *b.report); err != nil {
		b.Error(err)
	}
}

func newReport(f form) *Report {
	return &Report{
		Schema: 1, Time: time.Now().UTC().Truncate(time.Second), Commit: commit(), Go: runtime.Version(), CPUs: runtime.NumCPU(), Load: load(),
		Form: f.name, Events: f.events,
	}
}

// commit names the state of the sources; empty where git cannot say.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(3, len(fields))], " ")
}
