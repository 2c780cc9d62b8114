package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fleetglass/lifecycle"
	"fleetglass/store/internal/columns"
	"fleetglass/store/internal/migrate"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

func openStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// hold keeps the writer busy until the returned function is called, so that batches wait behind it.
func hold(t *testing.T, s *Store) (release func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		_ = s.submit(t.Context(), &job{do: func(*writer) error {
			close(begun)
			<-end
			return nil
		}})
	})
	<-begun
	return func() { close(end); ended.Wait() }
}

func published(task string, seq uint64) lifecycle.Batch {
	return lifecycle.Batch{Events: []lifecycle.Event{{
		ID: lifecycle.EventID(seq), At: lifecycle.Micros(1e15 + seq), Kind: lifecycle.Published, TaskID: task, Agent: "cto",
		Message: lifecycle.MessageKey{Stream: lifecycle.StreamID{Name: "TASKS"}, Seq: seq},
	}}}
}

// failOn makes the database refuse tasks of that id.
func failOn(t *testing.T, s *Store, id string) {
	t.Helper()
	err := s.submit(t.Context(), &job{do: func(w *writer) error {
		return sqlitex.ExecuteTransient(w.conn, `CREATE TRIGGER refuse BEFORE INSERT ON tasks WHEN new.task_id = '`+id+`' BEGIN SELECT raise(ABORT, 'refused'); END`, nil)
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestABatchThatFailsDoesNotFailTheOthers(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	failOn(t, s, "bad")
	release := hold(t, s)
	errs := make([]error, 6)
	var work sync.WaitGroup
	for i := range errs {
		work.Go(func() {
			task := map[bool]string{true: "bad", false: fmt.Sprintf("good-%d", i)}[i == 3]
			done, err := s.Append(t.Context(), published(task, uint64(i+1)))
			if errs[i] = err; err == nil && (done.New != 1 || len(done.Changed) != 1 || done.Changed[0].TaskID != task) {
				t.Errorf("append %d: %+v, want one new event and the task %s", i, done, task)
			}
		})
	}
	release()
	work.Wait()
	for i, err := range errs {
		if (err != nil) != (i == 3) {
			t.Errorf("append %d: %v", i, err)
		}
	}
	counts, _, err := s.CountTasks(t.Context(), lifecycle.Filter{})
	if err != nil || counts[lifecycle.StatePublished] != 5 {
		t.Errorf("tasks: %v, %v; want 5 published", counts, err)
	}
}

func TestAFailedTransactionLeavesNoStreamBehind(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	failOn(t, s, "bad")
	b := published("bad", 1)
	if _, err := s.Append(t.Context(), b); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Fatalf("append: %v, want an error that says refused", err)
	}
	b.Events[0].TaskID = "good"
	if _, err := s.Append(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	got, err := s.Task(t.Context(), "good")
	if err != nil || got.Summary.Message != b.Events[0].Message {
		t.Errorf("message of the task: %v, %v; want %v", got.Summary.Message, err, b.Events[0].Message)
	}
}

func TestACallerThatGivesUpTakesItsBatchBack(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	release := hold(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() {
		if _, err := s.Append(ctx, published("late", 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("append: %v, want context.Canceled", err)
		}
	})
	cancel()
	work.Wait()
	release()
	if _, err := s.Task(t.Context(), "late"); !errors.Is(err, lifecycle.ErrNotFound) {
		t.Errorf("task: %v, want ErrNotFound", err)
	}
}

func TestCloseEndsTheCallersThatWait(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	release := hold(t, s)
	var work sync.WaitGroup
	for i := range uint64(4) {
		work.Go(func() {
			if _, err := s.Append(t.Context(), published("waiting", i+1)); err != nil && !errors.Is(err, lifecycle.ErrClosed) {
				t.Errorf("append: %v, want it stored or ErrClosed", err)
			}
		})
	}
	work.Go(func() { _ = s.Close() })
	release()
	work.Wait()
}

func TestOpenRefusesAFileOfANewerProgram(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	err = s.submit(t.Context(), &job{do: func(w *writer) error {
		return sqlitex.ExecuteTransient(w.conn, `INSERT INTO schema_migrations (number, name, checksum) VALUES (99, 'future', '')`, nil)
	}})
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Path: path}); !errors.Is(err, migrate.ErrNewer) {
		t.Errorf("open: %v, want ErrNewer", err)
	}
}

func TestTheFileIsSetUpForDurableFastCommits(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	want := map[string]string{"page_size": "8192", "journal_mode": "wal", "synchronous": "2"}
	err := s.submit(t.Context(), &job{do: func(w *writer) error {
		for name, value := range want {
			err := prepare(w.conn, "PRAGMA "+name).each(func(r *statement) error {
				if got := r.getText(); got != value {
					t.Errorf("%s: %s, want %s", name, got, value)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRebuildHealsFacts(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	if _, err := s.Append(t.Context(), published("task", 1)); err != nil {
		t.Fatal(err)
	}
	want, err := s.Task(t.Context(), "task")
	if err != nil {
		t.Fatal(err)
	}
	err = s.submit(t.Context(), &job{do: func(w *writer) error {
		return runScript(w.conn, `UPDATE tasks SET facts = x'', summary = x'', state = ''; UPDATE messages SET facts = x'', open = 0; DELETE FROM rollups;`)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.Rebuild(t.Context()); err != nil || n != 1 {
		t.Fatalf("rebuild: %d events, %v; want 1", n, err)
	}
	got, err := s.Task(t.Context(), "task")
	if err != nil || got.Summary.State != want.Summary.State || got.Summary.Agent != want.Summary.Agent || len(got.Messages) != 1 {
		t.Errorf("task after a rebuild: %+v, %v; want %+v", got, err, want)
	}
	counts, _, err := s.CountTasks(t.Context(), lifecycle.Filter{})
	if err != nil || counts[lifecycle.StatePublished] != 1 {
		t.Errorf("counts after a rebuild: %v, %v; want 1 published", counts, err)
	}
}

// TestListsAreReadInIndexOrder fails when a list would sort more than rows of the same instant.
func TestListsAreReadInIndexOrder(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	for _, f := range []lifecycle.Filter{
		{}, {States: []lifecycle.State{"a"}}, {States: []lifecycle.State{"a", "b"}}, {Agents: []string{"x"}}, {Agents: []string{"x", "y"}},
		{Agents: []string{"x"}, States: []lifecycle.State{"a", "b"}}, {Words: []string{"w"}}, {From: 1, To: 2}, {Types: []string{"t"}, Duplicates: true},
	} {
		for _, sort := range []lifecycle.Sort{lifecycle.SortLastEvent, lifecycle.SortLastEventDesc, lifecycle.SortPublished, lifecycle.SortPublishedDesc, lifecycle.SortCost, lifecycle.SortCostDesc} {
			f.Sort = sort
			plan := planOf(t, s, f, columns.OrderOf(sort, false))
			if strings.Contains(plan, "FOR ORDER BY") || strings.Contains(plan, "SCAN tasks\n") {
				t.Errorf("list %+v by %s:\n%s", f, sort, plan)
			}
		}
	}
}

func planOf(t *testing.T, s *Store, f lifecycle.Filter, o columns.Order) string {
	t.Helper()
	var plan strings.Builder
	err := s.read(t.Context(), "plan", func(conn *sqlite.Conn) error {
		path, err := s.accessPathOf(conn, f, o.ByEvent())
		if err != nil {
			return err
		}
		q := sqlText{}
		q.add("EXPLAIN QUERY PLAN ")
		list := listQuery(path, o, &lifecycle.Cursor{At: 5, TaskID: "x"}, nil, 50)
		q.addText(&list)
		return s.each(conn, &q, func(r *statement) error {
			r.column = 3
			plan.WriteString(r.getText() + "\n")
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan.String()
}

func TestADatabaseWithoutRoomIsUnableAndARefusedBatchIsNot(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	pages := func(n string) {
		t.Helper()
		err := s.submit(t.Context(), &job{do: func(path *writer) error {
			return sqlitex.ExecuteTransient(path.conn, `PRAGMA max_page_count = `+n, nil)
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	failOn(t, s, "refused")
	if _, err := s.Append(t.Context(), published("refused", 1)); err == nil || errors.Is(err, lifecycle.ErrUnable) {
		t.Errorf("a batch that is refused: got %v, want an error other than ErrUnable", err)
	}
	pages("1") // No less than there are.
	large := published("large", 2)
	large.Payloads = []lifecycle.Payload{{Message: large.Events[0].Message, Body: make([]byte, 1<<20), Size: 1 << 20, At: large.Events[0].At}}
	if _, err := s.Append(t.Context(), large); !errors.Is(err, lifecycle.ErrUnable) {
		t.Errorf("a full database: got %v, want ErrUnable", err)
	}
	pages("1000000")
	if done, err := s.Append(t.Context(), large); err != nil || done.New != 1 {
		t.Errorf("with room again: %d new events, %v; want 1", done.New, err)
	}
}
