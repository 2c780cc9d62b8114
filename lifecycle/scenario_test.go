package lifecycle

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the expected parts of the scenario files anew")

// A scenario file has lines of events, a line of dashes, and what they prove. Times are offsets from base.
//
//	<kind> <offset> [seq=N] [n=ATTEMPT] [cseq=N] [task=ID] [gen=N] [msgid=ID] [basis=OFFSET] [deadline=OFFSET] [judged=OFFSET] [delay=D] [wait=D] [created=OFFSET] [reason=WORD+WORD] [record=SEQ] [agent=NAME] [by=NAME] [removal=BY] [undelivered] [watches] [unproved] [former] [said=OFFSET] [exact] [inferred]
//	    [subject=SUBJECT] [of=TASK] [worker=NAME] [rev=N] [beside=NAME] [outcome=OUTCOME] [actor=NAME] [until=OFFSET]
var base = MicrosOf(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))

func TestScenariosProveTheirState(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenario files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			given, want, _ := strings.Cut(string(text), "\n---\n")
			events := parseScenario(t, given)
			got := render(foldAll([][]Event{events}))
			if *update {
				if err := os.WriteFile(file, []byte(given+"\n---\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				want = got
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s (-want +got):\n%s", file, d)
			}
			checkOrderIndependence(t, events, got)
		})
	}
}

// checkOrderIndependence folds every permutation of the events where they are few, else many random ones, each with every event
// twice, in batches of one, of two, and of all. Of more than four events each order is cut in one way, which chance chooses: each way then has
// dozens of orders, and whichever it is, the events are joined in that order.
func checkOrderIndependence(t *testing.T, events []Event, want string) {
	t.Helper()
	r := newRand(t, 1)
	check := func(order []Event) {
		cuts := []int{1, 2, len(order)}
		if len(order) > 4 {
			cuts = []int{pick(r, cuts...)}
		}
		for _, cut := range cuts {
			twice := append(append([]Event{}, order...), order...)
			if got := render(foldAll(batches(twice, cut))); got != want {
				t.Fatalf("order %v in batches of %d (-want +got):\n%s", kinds(order), cut, cmp.Diff(want, got))
			}
		}
	}
	if len(events) <= 6 {
		permute(events, 0, check)
		return
	}
	for range Histories(150) {
		order := append([]Event{}, events...)
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		check(order)
	}
}

func permute(s []Event, k int, visit func([]Event)) {
	if k == len(s) {
		visit(s)
		return
	}
	for i := k; i < len(s); i++ {
		s[k], s[i] = s[i], s[k]
		permute(s, k+1, visit)
		s[k], s[i] = s[i], s[k]
	}
}

func batches(events []Event, size int) [][]Event {
	var out [][]Event
	for len(events) > 0 {
		n := min(size, len(events))
		out = append(out, events[:n])
		events = events[n:]
	}
	return out
}

func kinds(events []Event) []string {
	var out []string
	for _, e := range events {
		out = append(out, fmt.Sprintf("%s/%d", e.Kind, e.Attempt))
	}
	return out
}

func parseScenario(t testing.TB, text string) []Event {
	t.Helper()
	var out []Event
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		e, err := parseEventLine(line)
		if err != nil {
			t.Fatalf("line %d %q: %v", i+1, line, err)
		}
		e.ID = NewEventID("scenario", strconv.Itoa(i))
		out = append(out, e)
	}
	return out
}

func parseEventLine(line string) (Event, error) {
	fields := strings.Fields(line)
	e := Event{Kind: Kind(fields[0]), Provenance: Kind(fields[0]).Row().Provenance}
	offset, err := time.ParseDuration(fields[1])
	if err != nil {
		return e, err
	}
	e.At = base.Add(offset)
	for _, f := range fields[2:] {
		name, value, _ := strings.Cut(f, "=")
		if err := setField(&e, name, value); err != nil {
			return e, err
		}
	}
	if !e.Message.IsZero() {
		e.Message.Stream.Name = "TASKS"
		if !e.Detail.Apart {
			e.Agent, e.Consumer = "marketing", firstText(e.Consumer, "marketing-task-worker")
		}
		if e.Kind == Published {
			e.Consumer = ""
			e.Detail.Type, e.Detail.Subject = "blog", "genbrain.agents.marketing.tasks.blog"
		}
	}
	return e, nil
}

func setField(e *Event, name, value string) error {
	number := func() int { n, _ := strconv.Atoi(value); return n }
	instant := func() Micros { d, _ := time.ParseDuration(value); return base.Add(d) }
	switch name {
	case "seq":
		e.Message.Seq = uint64(number())
	case "n":
		e.Attempt = number()
	case "cseq":
		e.ConsumerSeq = uint64(number())
	case "task":
		e.TaskID = value
	case "gen":
		e.Detail.Generation = number()
	case "msgid":
		e.Detail.MsgID = value
	case "basis":
		e.Detail.Basis = instant()
	case "latest":
		e.Detail.AtLatest = true
	case "judged":
		e.Detail.Judged = instant()
	case "deadline":
		e.Detail.Deadline = instant()
	case "delay":
		e.Detail.Delay, _ = time.ParseDuration(value)
	case "reason":
		e.Detail.Reason = strings.ReplaceAll(value, "+", " ")
	case "record":
		e.Detail.RecordSeq = uint64(number())
	case "source":
		e.Source = value
	case "agent":
		e.Agent = value
	case "by":
		e.Detail.ReportedBy = value
	case "removal":
		e.Detail.Removal = Removal(value)
	case "watches":
		e.Detail.Watches = true
	case "unproved":
		e.Detail.Unproved = true
	case "besteffort":
		e.Detail.BestEffort = true
	case "former":
		e.Detail.Former = true
	case "said":
		e.Detail.SaidAt = instant()
	case "worker":
		e.Agent, e.Consumer, e.Detail.Apart = value, value+"-task-worker", true
	case "consumer":
		e.Consumer = value
	case "beside":
		e.Detail.Beside = []string{value + "-task-worker"}
	case "undelivered":
		e.Detail.Undelivered = true
	case "category":
		e.Detail.Category = value
	case "subject":
		e.Detail.Subject = value
	case "of":
		e.Detail.OfTask = value
	case "owner":
		e.Detail.LeaseOwner = value
	case "publisher":
		e.Detail.Publisher = value
	case "namesake":
		e.Detail.Owner = value
	case "window":
		e.Detail.Window, _ = time.ParseDuration(value)
	case "lease":
		e.Detail.LeaseVersion = uint64(number())
	case "key":
		e.Detail.IdempotencyKey = value
	case "hash":
		e.Detail.PayloadHash = value
	case "tool":
		e.Detail.Tool = value
	case "class":
		e.Detail.StepClass = value
	case "step":
		e.Detail.StepID = value
	case "input":
		e.Detail.InputHash = value
	case "created":
		e.Detail.CreatedAt = instant()
	case "heard":
		e.Detail.HeardAt = instant()
	case "wait":
		e.Detail.RecordsWait, _ = time.ParseDuration(value)
	case "rev":
		e.Detail.Revision = uint64(number())
	case "outcome":
		e.Detail.Outcome = Outcome(value)
	case "action":
		e.Detail.Action = value
	case "actor":
		e.Detail.Actor = value
	case "until":
		e.Detail.Until = instant()
	case "exact":
		e.Detail.Exact = true
	case "inferred":
		e.Provenance = Inferred
	default:
		return fmt.Errorf("field %q is not known", name)
	}
	return nil
}

// render writes what a fold proved in the form of the scenario files.
func render(m *memory) string {
	var b strings.Builder
	for _, id := range m.taskIDs() {
		r := m.record(id)
		s := r.Summary
		fmt.Fprintf(&b, "task %s: %s (%s)", id, s.State, s.Rule)
		if !s.Listed {
			fmt.Fprint(&b, " unlisted")
		}
		fmt.Fprintf(&b, " since %s", offset(s.StateSince))
		fmt.Fprintf(&b, " attempt %d waiting %s running %s", s.Attempt, s.Waiting, s.Running)
		if s.Outcome != "" {
			fmt.Fprintf(&b, " outcome %s died %s ended %s", s.Outcome, s.Died, offset(s.EndedAt))
		}
		if s.Duplicates > 0 {
			fmt.Fprintf(&b, " duplicates %d", s.Duplicates)
		}
		if len(s.Anomalies) > 0 {
			fmt.Fprintf(&b, " anomalies %v", s.Anomalies)
		}
		fmt.Fprintln(&b)
		for _, c := range Ledger(&r.Facts) {
			fmt.Fprintf(&b, "  ledger %s %d at %s attempt %d: %s\n", c.Layer, c.N, offset(c.At), c.Attempt, c.Why)
		}
		for _, mt := range AssembleTrace(TraceInput{Record: r, Now: base.Add(time.Hour)}).Messages {
			fmt.Fprintf(&b, "  message %s: %s\n", mt.Facts.Key, mt.Verdict.State)
			for _, a := range mt.Attempts {
				fmt.Fprintf(&b, "    attempt %d: began %s ended %s %s", a.N, offset(a.BeganAt), offset(a.EndedAt), a.End)
				if a.BeganExact {
					fmt.Fprint(&b, " exact")
				}
				if a.Silent {
					fmt.Fprint(&b, " silent")
				}
				if a.Reason != "" {
					fmt.Fprintf(&b, " because %q", a.Reason)
				}
				fmt.Fprintln(&b)
			}
		}
	}
	for _, c := range m.cells() {
		fmt.Fprintf(&b, "count %s %s: %d\n", c.Metric, c.Label, m.rollups[c])
	}
	return b.String()
}

func offset(m Micros) string {
	if !m.Known() {
		return "?"
	}
	return "+" + m.Sub(base).String()
}
