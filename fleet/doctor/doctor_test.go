package doctor_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/fleet/doctor"
	"fleetglass/internal/testkit"
)

var contract = fleet.NewContract("")

// patient is the timing of a worker in which nothing is wrong.
var patient = fleet.Timing{AckWait: 10 * time.Minute, MaxDeliver: 3}

// rightly is how streams are set up in which nothing is wrong.
var rightly = fleet.Streams{Contract: contract, RecordRetention: 9 * 24 * time.Hour}

// broker is a real one, set up rightly, with one worker that nothing is wrong with.
type broker struct {
	t  *testing.T
	js jetstream.JetStream
}

func rightBroker(t *testing.T) broker {
	t.Helper()
	srv := testkit.BareBroker(t)
	testkit.Provision(t, srv, rightly)
	b := broker{t, testkit.JetStream(t, srv)}
	b.worker("cto", func(*jetstream.ConsumerConfig) {})
	b.publish("cto", 1)
	return b
}

// connected is JetStream of a broker at an address.
func connected(t *testing.T, address string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// provision creates every stream.
func (b broker) provision(streams fleet.Streams) {
	b.t.Helper()
	_, err := fleet.Provision(b.t.Context(), b.js, streams)
	b.must(err)
}

func (b broker) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// worker creates the consumer of an agent, changed as the caller likes.
func (b broker) worker(agent string, change func(*jetstream.ConsumerConfig)) {
	b.t.Helper()
	b.consumer(fleet.StreamTasks, agent, change)
}

func (b broker) consumer(stream, agent string, change func(*jetstream.ConsumerConfig)) {
	b.t.Helper()
	cfg := contract.Worker(agent, patient)
	change(&cfg)
	_, err := b.js.CreateConsumer(b.t.Context(), stream, cfg)
	b.must(err)
}

// change changes the consumer of an agent that exists.
func (b broker) change(agent string, change func(*jetstream.ConsumerConfig)) {
	b.t.Helper()
	c, err := b.js.Consumer(b.t.Context(), fleet.StreamTasks, fleet.WorkerName(agent))
	b.must(err)
	cfg := c.CachedInfo().Config
	change(&cfg)
	_, err = b.js.UpdateConsumer(b.t.Context(), fleet.StreamTasks, cfg)
	b.must(err)
}

// edit changes a stream that exists.
func (b broker) edit(stream string, change func(*jetstream.StreamConfig)) {
	b.t.Helper()
	s, err := b.js.Stream(b.t.Context(), stream)
	b.must(err)
	cfg := s.CachedInfo().Config
	change(&cfg)
	_, err = b.js.UpdateStream(b.t.Context(), cfg)
	b.must(err)
}

// anew deletes a stream and creates it again otherwise.
func (b broker) anew(stream string, change func(*jetstream.StreamConfig)) {
	b.t.Helper()
	s, err := b.js.Stream(b.t.Context(), stream)
	b.must(err)
	cfg := s.CachedInfo().Config
	b.must(b.js.DeleteStream(b.t.Context(), stream))
	change(&cfg)
	b.create(cfg)
}

func (b broker) create(cfg jetstream.StreamConfig) {
	b.t.Helper()
	_, err := b.js.CreateStream(b.t.Context(), cfg)
	b.must(err)
}

func (b broker) remove(stream string) {
	b.t.Helper()
	b.must(b.js.DeleteStream(b.t.Context(), stream))
}

func (b broker) publish(agent string, n int) {
	b.t.Helper()
	for range n {
		_, err := b.js.Publish(b.t.Context(), contract.TaskSubject(agent, "review"), []byte("{}"))
		b.must(err)
	}
}

// workers creates the consumers of n agents more.
func (b broker) workers(n int) {
	b.t.Helper()
	for i := range n {
		b.worker(fmt.Sprintf("agent-%d", i), func(*jetstream.ConsumerConfig) {})
	}
}

// refused asserts that the broker itself takes no more consumers.
func (b broker) refused(agent string) {
	b.t.Helper()
	if _, err := b.js.CreateConsumer(b.t.Context(), fleet.StreamTasks, contract.Worker(agent, patient)); err == nil || !strings.Contains(err.Error(), "maximum consumers limit reached") {
		b.t.Fatalf("a consumer at the limit: %v", err)
	}
}

// acknowledge claims n acknowledgements of messages that never were, and waits until they were recorded.
func (b broker) acknowledge(n int) {
	b.t.Helper()
	for i := range n {
		b.must(b.js.Conn().Publish(fmt.Sprintf("$JS.ACK.%s.%s.1.%d.1.1.0", fleet.StreamTasks, fleet.WorkerName("cto"), 1000+i), []byte("+ACK")))
	}
	testkit.Eventually(b.t, 10*time.Second, func() error {
		s, err := b.js.Stream(b.t.Context(), fleet.CaptureAck)
		if err != nil {
			return err
		}
		if last := s.CachedInfo().State.LastSeq; last < uint64(n) {
			return fmt.Errorf("%d of %d acknowledgements recorded", last, n)
		}
		return nil
	})
}

// examine says what the doctor finds, by code and resource.
func (b broker) examine() []string {
	b.t.Helper()
	return codes(b.findings())
}

func (b broker) findings() []doctor.Finding {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 20*time.Second)
	defer cancel()
	c, err := doctor.Read(ctx, b.js, contract)
	b.must(err)
	return doctor.Rules{Contract: contract}.Examine(c)
}

func codes(findings []doctor.Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.Code+": "+f.Resource)
	}
	slices.Sort(out)
	return out
}

func TestARightBrokerHasNoFinding(t *testing.T) {
	t.Parallel()
	if got := rightBroker(t).examine(); len(got) > 0 {
		t.Errorf("findings on a right broker: %q", got)
	}
}

func TestFindingsAreSortedAndComplete(t *testing.T) {
	t.Parallel()
	findings := doctor.Rules{Contract: contract}.Examine(doctor.Cluster{})
	if len(findings) == 0 {
		t.Fatal("an empty broker has no finding")
	}
	if !slices.IsSortedFunc(findings, func(a, b doctor.Finding) int {
		return cmp.Compare(slices.Index(doctor.Severities(), a.Severity), slices.Index(doctor.Severities(), b.Severity))
	}) {
		t.Errorf("not the worst first: %+v", findings)
	}
	for _, f := range findings {
		if f.What == "" || f.Why == "" || f.Fix == "" || f.Resource == "" {
			t.Errorf("incomplete: %+v", f)
		}
	}
}

func TestTheDocumentNamesEveryTrap(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, trap := range doctor.Traps() {
		row := fmt.Sprintf("| `%s` | %s | %s. | %s |", trap.Code, trap.Severity, trap.Title, trap.Why)
		if !strings.Contains(string(document), row) {
			t.Errorf("docs/doctor.md lacks the row:\n%s", row)
		}
	}
}

// rowsOf are the rows of docs/doctor.md that match, by their parts.
func rowsOf(t *testing.T, row string) [][]string {
	t.Helper()
	document, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile("(?m)^"+row+"$").FindAllStringSubmatch(string(document), -1)
}

// The document says of each trap which test plants it alone, and such a test is there.
func TestEveryTrapIsPlantedAloneAsTheDocumentSays(t *testing.T) {
	t.Parallel()
	by := map[string]string{} // The code that a test plants alone.
	for _, trap := range planted {
		if len(trap.want) == 1 {
			by[trap.name] = codeOf(trap.want[0])
		}
	}
	for _, trap := range beside {
		by[trap.name] = codeOf(trap.added)
	}
	for _, trap := range inACluster {
		by[trap.name] = codeOf(trap.want)
	}
	told := map[string]bool{}
	for _, row := range rowsOf(t, "\\| [^|]+ \\| `([a-z_]+)` \\| ([^|]+) \\|") {
		code, test := row[1], row[2]
		if told[code] = true; by[test] != code {
			t.Errorf("%q plants %q alone, and the document says %s", test, by[test], code)
		}
		delete(by, test)
	}
	for _, trap := range doctor.Traps() {
		if !told[trap.Code] {
			t.Errorf("docs/doctor.md does not say which test plants %s", trap.Code)
		}
		delete(told, trap.Code)
	}
	for code := range told {
		t.Errorf("docs/doctor.md has %s, which the doctor does not know", code)
	}
	for test, code := range by {
		t.Errorf("docs/doctor.md does not say that %q plants %s", test, code)
	}
}

func codeOf(finding string) string {
	code, _, _ := strings.Cut(finding, ":")
	return code
}

// What the doctor cannot see is shown elsewhere, and the document names the test that sees it.
func TestWhatTheDoctorCannotSeeIsSeenElsewhere(t *testing.T) {
	t.Parallel()
	rows := rowsOf(t, "\\| .+ \\| `([a-z/]+)`: ([^|]+) \\|")
	if len(rows) < 10 {
		t.Fatalf("docs/doctor.md has %d rows of what the doctor cannot see", len(rows))
	}
	for _, row := range rows {
		dir, name := filepath.Join("../..", row[1]), row[2]
		if _, err := os.Stat(filepath.Join(dir, name+".txt")); err == nil {
			continue
		}
		tests, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(tests, func(file string) bool {
			text, err := os.ReadFile(file)
			return err == nil && (strings.Contains(string(text), strconv.Quote(name)) || strings.Contains(string(text), "func "+name+"("))
		}) {
			t.Errorf("%s has no test %q", row[1], name)
		}
	}
}

func TestManyReadersCostOneLook(t *testing.T) {
	t.Parallel()
	b := rightBroker(t)
	now := time.Now()
	d, err := doctor.New(doctor.Config{JetStream: b.js, Rules: doctor.Rules{Contract: contract}, Now: func() time.Time { return now }})
	b.must(err)
	first, err := d.Report(t.Context())
	b.must(err)
	if len(first.Findings) != 0 || first.Streams < 9 || first.Consumers != 1 {
		t.Errorf("report of a right broker: %+v", first)
	}
	b.remove(fleet.StreamDLQ)
	if again, err := d.Report(t.Context()); err != nil || len(again.Findings) != 0 {
		t.Errorf("a fresh report was not given again: %+v, %v", again, err)
	}
	now = now.Add(time.Minute)
	if later, err := d.Report(t.Context()); err != nil || !slices.Equal(codes(later.Findings), []string{"no_dlq: stream DLQ"}) {
		t.Errorf("a minute later: %+v, %v", later, err)
	}
	b.js.Conn().Close()
	now = now.Add(time.Minute)
	if r, err := d.Report(t.Context()); err == nil {
		t.Errorf("no broker, and yet a report: %+v", r)
	}
}
