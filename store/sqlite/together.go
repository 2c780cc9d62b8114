package sqlite

import (
	"errors"

	"fleetglass/lifecycle"
)

// together commits writes in one transaction. Each is taken back alone where it fails, and tried alone where the transaction fails, so that none fails because of
// another.
func (w *writer) together(jobs []*job) {
	committed := len(jobs) > 1 && w.transaction(func() error { return w.eachApart(jobs) }) == nil
	if committed {
		w.checkpoints.logged(pagesPerCommit + pagesPerWrite*len(jobs))
	}
	for _, j := range jobs {
		var old *lifecycle.OldFactsError
		if !committed || errors.As(j.err, &old) {
			j.err = w.appending(func() error { return j.write(w) })
			w.checkpoints.logged(pagesPerCommit + pagesPerWrite)
		}
		close(j.done)
	}
}

// eachApart runs writes one after the other, each in a savepoint. It errors only where the transaction cannot go on.
func (w *writer) eachApart(jobs []*job) error {
	for _, j := range jobs {
		if err := w.statement(`SAVEPOINT apart`).exec(); err != nil {
			return err
		}
		if j.err = j.write(w); j.err != nil {
			w.streams.forget()
			clear(w.highest)
			if err := w.statement(`ROLLBACK TO apart`).exec(); err != nil {
				return err
			}
		}
		if err := w.statement(`RELEASE apart`).exec(); err != nil {
			return err
		}
	}
	return nil
}
