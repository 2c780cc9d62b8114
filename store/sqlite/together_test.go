package sqlite

import (
	"errors"
	"fmt"
	"testing"

	"fleetglass/decision"
)

// writeTogether has the writer commit writes together, and returns what became of each. Each adds a record first.
func writeTogether(t *testing.T, s *Store, then ...func(w *writer) error) (errs []error) {
	t.Helper()
	jobs := make([]*job, len(then))
	for i, f := range then {
		jobs[i] = &job{done: make(chan struct{}), write: func(w *writer) error {
			r := decision.AuditRecord{ID: fmt.Sprint(i), At: 1, Actor: "a", Action: "b", Target: "c", Outcome: decision.Allowed}
			return errors.Join(w.addAudit(&r), f(w))
		}}
	}
	if err := s.submit(t.Context(), &job{do: func(w *writer) error { w.together(jobs); return nil }}); err != nil {
		t.Fatal(err)
	}
	for _, j := range jobs {
		<-j.done
		errs = append(errs, j.err)
	}
	return errs
}

// recorded lists the ids of the records that are committed.
func recorded(t *testing.T, s *Store) (ids string) {
	t.Helper()
	records, _, err := s.Audit(t.Context(), decision.AuditFilter{}, nil, 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		ids = r.ID + ids
	}
	return ids
}

func fine(*writer) error { return nil }

func TestWritesShareACommitAndNoneFailsBecauseOfAnother(t *testing.T) {
	t.Parallel()
	s, bad := openStore(t), errors.New("bad")
	before := ""
	errs := writeTogether(t, s, fine, func(*writer) error { return bad }, fine, func(*writer) error {
		before = recorded(t, s)
		return nil
	})
	for i, err := range errs {
		if i == 1 != errors.Is(err, bad) || i != 1 && err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
	if before != "" {
		t.Errorf("before the last write %q were committed, want none", before)
	}
	if got := recorded(t, s); got != "023" {
		t.Errorf("committed: %q, want 023", got)
	}
}

func TestWritesWhoseTransactionIsLostAreTriedAlone(t *testing.T) {
	t.Parallel()
	s, times := openStore(t), 0
	errs := writeTogether(t, s, fine, func(w *writer) error { // As SQLite itself does where the disk is full.
		if times++; times == 1 {
			return errors.Join(errors.New("lost"), w.statement(`ROLLBACK`).exec())
		}
		return errors.New("lost again")
	}, fine)
	if errs[0] != nil || errs[1] == nil || errs[2] != nil || times != 2 {
		t.Errorf("got %v after %d times", errs, times)
	}
	if got := recorded(t, s); got != "02" {
		t.Errorf("committed: %q, want 02", got)
	}
}

func TestAWriteThatIsTakenBackLeavesNoStreamBehind(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	registers := func(then error) func(w *writer) error {
		return func(w *writer) error {
			batch := published("task", 1)
			return errors.Join(w.append([]*job{{batch: &batch}}), then)
		}
	}
	errs := writeTogether(t, s, registers(errors.New("bad")), registers(nil))
	if errs[0] == nil || errs[1] != nil {
		t.Fatalf("got %v", errs)
	}
	got, err := s.Task(t.Context(), "task")
	if want := published("task", 1).Events[0].Message; err != nil || got.Summary.Message != want {
		t.Errorf("message of the task: %v, %v; want %v", got.Summary.Message, err, want)
	}
}
