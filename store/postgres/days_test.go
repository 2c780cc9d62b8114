package postgres_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/postgres"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
)

const aDay = 24 * time.Hour

// clock is a store's clock, set by hand.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func openAt(t *testing.T, url string, c *clock) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url, Now: c.now, History: 10 * aDay})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// partitions counts the rows of each partition of a table.
func partitions(t *testing.T, url, table string) map[string]int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // Only read from.
	rows, err := conn.Query(t.Context(), "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = $1::regclass ORDER BY 1", table)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, name := range names {
		n := 0
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM "+name).Scan(&n); err != nil {
			t.Fatal(err)
		}
		out[name] = n
	}
	return out
}

func checkPartitions(t *testing.T, url string, want map[string]int) {
	t.Helper()
	if d := gocmp.Diff(want, partitions(t, url, "events")); d != "" {
		t.Errorf("rows of the partitions of events (-want +got):\n%s", d)
	}
}

// publishedAt is a message published at a time, settled by an ack a second later when done is true.
func publishedAt(seq uint64, task string, at time.Time, done bool) ([]lifecycle.Event, lifecycle.Payload) {
	k := lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: seq}
	e := lifecycle.Event{
		ID: lifecycle.NewEventID("t", task, "p"), At: lifecycle.MicrosOf(at), Kind: lifecycle.Published, Provenance: lifecycle.Observed,
		Source: "t", TaskID: task, Message: k, Agent: "cto", Detail: lifecycle.Detail{Naming: lifecycle.Naming{MsgID: task}},
	}
	events := []lifecycle.Event{e}
	if done {
		ack := lifecycle.Event{
			ID: lifecycle.NewEventID("t", task, "a"), At: e.At + 1_000_000, Kind: lifecycle.Acked, Provenance: lifecycle.Observed, Source: "t",
			Message: k, Attempt: 1, Agent: "cto",
		}
		events = append(events, ack)
	}
	return events, lifecycle.Payload{Message: k, At: e.At, Body: []byte(task), Size: int64(len(task))}
}

func appendAt(t *testing.T, s *postgres.Store, seq uint64, task string, at time.Time, done bool) []lifecycle.Event {
	t.Helper()
	events, payload := publishedAt(seq, task, at, done)
	if _, err := s.Append(t.Context(), lifecycle.Batch{Events: events, Payloads: []lifecycle.Payload{payload}}); err != nil {
		t.Fatal(err)
	}
	return events
}

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func TestEventsOfOddClocksGoToTheDefaultPartition(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	s := openAt(t, url, &clock{at: noon})
	for i, at := range []time.Time{noon, noon.Add(aDay), noon.Add(-9 * aDay), noon.Add(2 * aDay), noon.AddDate(30, 0, 0), noon.AddDate(-40, 0, 0), time.UnixMicro(-5), time.UnixMicro(1)} {
		task := fmt.Sprintf("t%d", i)
		want := appendAt(t, s, uint64(i+1), task, at, false)
		if got, err := s.Events(t.Context(), task, lifecycle.EventPosition{}, 10); err != nil || gocmp.Diff(want, got, cmpopts.EquateEmpty()) != "" {
			t.Errorf("events of %v: got %+v, %v", at, got, err)
		}
		if _, err := s.Payload(t.Context(), want[0].Message); err != nil {
			t.Errorf("payload of %v: %v", at, err)
		}
	}
	checkPartitions(t, url, map[string]int{"events_20260301": 1, "events_20260310": 1, "events_20260311": 1, "events_default": 5})
}

func TestAPartitionTakesOverWhatCameTooEarly(t *testing.T) {
	t.Parallel()
	url, c := testkit.Postgres(t), &clock{at: noon}
	s := openAt(t, url, c)
	early := appendAt(t, s, 1, "early", noon.Add(5*aDay), true)
	checkPartitions(t, url, map[string]int{"events_20260311": 0, "events_default": 1})
	c.pass(5 * aDay)
	appendAt(t, s, 2, "in time", noon.Add(5*aDay), false)
	checkPartitions(t, url, map[string]int{"events_20260311": 0, "events_20260315": 2, "events_20260316": 0, "events_default": 0})
	if got, err := s.Events(t.Context(), "early", lifecycle.EventPosition{}, 10); err != nil || gocmp.Diff(early, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(lifecycle.Event{}, "TaskID")) != "" {
		t.Errorf("events that moved: got %+v, %v", got, err)
	}
	if done, err := s.Append(t.Context(), lifecycle.Batch{Events: early}); err != nil || done.New != 0 {
		t.Errorf("events that moved, given again: %d new, %v; want none", done.New, err)
	}
}

func TestRetentionDropsWholeDaysAndKeepsWhatIsOpen(t *testing.T) {
	t.Parallel()
	url, c := testkit.Postgres(t), &clock{at: noon}
	s := openAt(t, url, c)
	appendAt(t, s, 1, "old", noon.Add(-5*aDay), true)
	open := appendAt(t, s, 2, "old and open", noon.Add(-5*aDay), false)
	appendAt(t, s, 3, "this morning", noon.Add(-6*time.Hour), true)
	fresh := appendAt(t, s, 4, "fresh", noon, true)
	appendAt(t, s, 5, "ancient", noon.AddDate(-10, 0, 0), true)
	checkPartitions(t, url, map[string]int{"events_20260305": 2, "events_20260310": 2, "events_20260311": 0, "events_default": 1})
	cutoff := lifecycle.MicrosOf(noon.Add(-time.Hour))
	if n, err := s.Retain(t.Context(), cutoff, lifecycle.MicrosOf(noon)); err != nil || n != 3 {
		t.Errorf("retain: %d tasks deleted, %v; want 3", n, err)
	}
	checkPartitions(t, url, map[string]int{"events_20260310": 1, "events_20260311": 0, "events_default": 1})
	for _, e := range []lifecycle.Event{open[0], fresh[0]} {
		if got, err := s.Events(t.Context(), e.TaskID, lifecycle.EventPosition{}, 10); err != nil || len(got) == 0 {
			t.Errorf("events of %q: %d, %v; want them kept", e.TaskID, len(got), err)
		}
		if p, err := s.Payload(t.Context(), e.Message); err != nil || string(p.Body) != e.TaskID {
			t.Errorf("payload of %q: %q, %v; want it kept", e.TaskID, p.Body, err)
		}
	}
	appendAt(t, s, 6, "late", noon.Add(-5*aDay), true) // The day opens again, and takes back what was kept.
	checkPartitions(t, url, map[string]int{"events_20260305": 2, "events_20260310": 1, "events_20260311": 0, "events_default": 0})
}

func TestEventsOfSeveralDaysAreJoined(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	s := openAt(t, url, &clock{at: noon})
	report := func(after time.Duration) lifecycle.Event {
		return lifecycle.Event{ID: lifecycle.NewEventID("t", after.String()), At: lifecycle.MicrosOf(noon.Add(after)), Kind: lifecycle.ReportHeartbeat,
			Provenance: lifecycle.Reported, Source: "t", TaskID: "long"}
	}
	first, second, future := report(-9*aDay), report(-aDay), report(5*aDay)
	before, behind := report(-9*aDay-time.Hour), report(6*aDay)
	for _, events := range [][]lifecycle.Event{{first}, {second}, {future}} {
		if _, err := s.Append(t.Context(), lifecycle.Batch{Events: events}); err != nil {
			t.Fatal(err)
		}
	}
	checkPartitions(t, url, map[string]int{"events_20260301": 1, "events_20260309": 1, "events_20260311": 0, "events_default": 1})
	if done, err := s.Append(t.Context(), lifecycle.Batch{Events: []lifecycle.Event{before, second, behind}}); err != nil || done.New != 2 {
		t.Errorf("append around what is stored: %d new, %v; want 2", done.New, err)
	}
	checkPartitions(t, url, map[string]int{"events_20260301": 0, "events_20260309": 0, "events_20260311": 0, "events_default": 1})
	want := []lifecycle.Event{before, first, second, future, behind}
	if got, err := s.Events(t.Context(), "long", lifecycle.EventPosition{}, 10); err != nil || gocmp.Diff(want, got, cmpopts.EquateEmpty()) != "" {
		t.Errorf("events: got %+v, %v; want them all, once, in order", got, err)
	}
}

func TestProgramsThatStartTogetherMakeOnePartition(t *testing.T) {
	t.Parallel()
	url, c := testkit.Postgres(t), &clock{at: noon}
	var work sync.WaitGroup
	want := []string{"events_default"}
	for i := range 4 {
		s := openAt(t, url, c)
		work.Go(func() {
			for d := range 6 {
				at := noon.Add(-time.Duration(d) * aDay)
				events, _ := publishedAt(uint64(1+i*10+d), fmt.Sprintf("%d-%d", i, d), at, false)
				if _, err := s.Append(t.Context(), lifecycle.Batch{Events: events}); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	for d := range 7 { // The next day too.
		want = append(want, noon.Add(time.Duration(1-d)*aDay).Format("events_20060102"))
	}
	work.Wait()
	got, rows := partitions(t, url, "events"), 0
	for _, n := range got {
		rows += n
	}
	if d := gocmp.Diff(slices.Sorted(slices.Values(want)), slices.Sorted(maps.Keys(got))); d != "" || rows != 4*6 || got["events_default"] != 0 {
		t.Errorf("%d rows in %v, want 24 and none of them in the default partition; partitions (-want +got):\n%s", rows, got, d)
	}
}

// A connection that lists the partitions while one is attached keeps the list without it: what it then writes goes to the default partition, where nobody
// who asks for that day finds it. So a day is opened while nobody uses the table. Whoever uses it for hours, as a backup does, is not waited for.
func TestABackupStopsNobodyAndNoDayIsOpenedBesideIt(t *testing.T) {
	t.Parallel()
	for name, lock := range map[string]string{
		"the backup lists the partitions of events":   "LOCK TABLE ONLY events IN ACCESS SHARE MODE",
		"the backup lists the partitions of payloads": "LOCK TABLE ONLY payloads IN ACCESS SHARE MODE",
		"the backup reads all":                        "LOCK TABLE events, payloads IN ACCESS SHARE MODE",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, c := testkit.Postgres(t), &clock{at: noon}
			s := openAt(t, url, c)
			appendAt(t, s, 1, "before", noon, true)
			backup, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = backup.Close(context.Background()) }()
			tx, err := backup.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tx.Exec(t.Context(), lock); err != nil {
				t.Fatal(err)
			}
			for day := range 3 { // The first has a partition, which was made the day before.
				c.pass(aDay)
				task := fmt.Sprint("beside ", day)
				want := appendAt(t, s, uint64(10+day), task, c.now(), true)
				if got, err := s.Events(t.Context(), task, lifecycle.EventPosition{}, 10); err != nil || len(got) != len(want) {
					t.Errorf("%s the backup: %d events, %v; want %d", task, len(got), err, len(want))
				}
			}
			days := map[string]int{"events_20260310": 1, "events_20260311": 1, "events_default": 2}
			checkPartitions(t, url, days)
			if _, err := s.Retain(t.Context(), lifecycle.MicrosOf(noon.Add(36*time.Hour)), lifecycle.MicrosOf(c.now())); err == nil || !strings.Contains(err.Error(), "such as a backup") {
				t.Errorf("retention beside the backup: %v; want that it says what is in its way", err)
			}
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.pass(time.Hour)
			appendAt(t, s, 20, "after", c.now(), true)
			appendAt(t, s, 21, "late", c.now().Add(-aDay), true)
			got := partitions(t, url, "events")
			if got["events_default"] != 0 || got["events_20260312"] == 0 || got["events_20260313"] == 0 {
				t.Errorf("after the backup: %v; want that each day has its own", got)
			}
		})
	}
}

func TestProgramsMayOpenAnEmptyDatabaseTogether(t *testing.T) {
	t.Parallel()
	url := testkit.Postgres(t)
	var work sync.WaitGroup
	for range 6 {
		work.Go(func() {
			s, err := postgres.Open(t.Context(), postgres.Config{URL: url})
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			_ = s.Close()
		})
	}
	work.Wait()
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "postgres://%zz", "postgres://nobody:secret@127.0.0.1:1/none?connect_timeout=1"} {
		s, err := postgres.Open(t.Context(), postgres.Config{URL: url})
		if err == nil {
			_ = s.Close()
			t.Errorf("open %q: no error", url)
		} else if !strings.HasPrefix(err.Error(), "open postgres: ") || strings.Contains(err.Error(), "secret") {
			t.Errorf("open %q: got %v, want an error with its operation and without the password", url, err)
		}
	}
}
