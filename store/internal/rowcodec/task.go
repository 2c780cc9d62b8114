package rowcodec

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// AppendTask appends the facts of a task, without its id.
func AppendTask(b []byte, t *lifecycle.TaskFacts) []byte {
	w := writer(b)
	if t.Head != (lifecycle.Head{}) {
		w.group(1, func(w *writer) { w.int(1, int64(t.Head.Generation)); writeKey(w, 2, t.Head.Key) })
	}
	w.int(2, int64(t.Messages))
	if len(t.Publishes) == 1 {
		for id, p := range t.Publishes {
			w.group(3, func(w *writer) { writePublish(w, id, &p) })
		}
	} else {
		for _, id := range slices.Sorted(maps.Keys(t.Publishes)) {
			p := t.Publishes[id]
			w.group(3, func(w *writer) { writePublish(w, id, &p) })
		}
	}
	for i := range t.Reports {
		w.group(4, func(w *writer) { writeReport(w, &t.Reports[i]) })
	}
	if c := t.Completion; c != nil {
		w.group(5, func(w *writer) {
			w.at(1, c.At)
			w.text(2, c.Agent)
			w.text(3, c.Key)
			w.text(4, c.PayloadHash)
			w.at(5, c.ExpiresAt)
			w.text(6, c.Source)
		})
	}
	w.at(6, t.NotStoredAt)
	w.at(7, t.FirstAt)
	w.at(8, t.LastAt)
	w.text(9, t.Agent)
	w.text(10, t.Type)
	for i := range t.Copies {
		w.group(12, func(w *writer) { writeCopy(w, &t.Copies[i]) })
	}
	for _, c := range t.Completed {
		w.group(13, func(w *writer) { w.at(1, c.Stated); w.at(2, c.At); w.text(3, c.Key); w.uint(4, c.Seq) })
	}
	for i := range t.Steps {
		w.group(14, func(w *writer) { writeStep(w, &t.Steps[i]) })
	}
	return w
}

func writeKey(w *writer, field int, k lifecycle.MessageKey) {
	w.group(field, func(w *writer) {
		w.text(1, k.Stream.Account)
		w.text(2, k.Stream.Domain)
		w.text(3, k.Stream.Name)
		w.at(4, k.Stream.Epoch)
		w.uint(5, k.Seq)
	})
}

func writePublish(w *writer, id string, p *lifecycle.PublishFacts) {
	w.text(1, id)
	for _, a := range p.Attempts {
		w.group(2, func(w *writer) {
			w.at(1, a.At)
			w.uint(2, uint64(a.ID))
		})
	}
	for _, k := range p.Stored {
		writeKey(w, 3, k)
	}
	w.at(4, p.StoredAt)
}

func writeReport(w *writer, r *lifecycle.ReportFacts) {
	w.text(1, r.MsgID)
	w.int(2, int64(r.Attempt))
	w.at(3, r.ClaimedAt)
	w.at(4, r.AcceptedAt)
	w.at(5, r.BeatAt)
	w.at(6, r.CompletedAt)
	w.at(7, r.FailedAt)
	w.text(8, r.FailedWhy)
	w.at(9, r.SentAt)
	w.at(10, r.ReceiptAt)
	w.at(11, r.CheckpointAt)
	w.text(12, r.Owner)
	w.uint(13, r.LeaseVersion)
	w.at(14, r.LeaseExpiresAt)
	w.at(15, r.DuplicateAt)
	w.int(16, int64(r.RecordsWait))
	w.text(17, r.Agent)
}

// Task reads what AppendTask wrote.
func Task(id string, b []byte) (lifecycle.TaskFacts, error) {
	t := lifecycle.TaskFacts{ID: id}
	r := reader{rest: b}
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			r.group(func(r *reader) { readHead(r, &t.Head) })
		case 2:
			t.Messages = int(r.int())
		case 3:
			if t.Publishes == nil {
				t.Publishes = map[string]lifecycle.PublishFacts{}
			}
			r.group(func(r *reader) { readPublish(r, t.Publishes) })
		case 4:
			t.Reports = append(t.Reports, lifecycle.ReportFacts{})
			r.group(func(r *reader) { readReport(r, &t.Reports[len(t.Reports)-1]) })
		case 5:
			t.Completion = &lifecycle.CompletionFacts{}
			r.group(func(r *reader) { readCompletion(r, t.Completion) })
		case 6:
			t.NotStoredAt = r.at()
		case 7:
			t.FirstAt = r.at()
		case 8:
			t.LastAt = r.at()
		case 9:
			t.Agent = r.text()
		case 10:
			t.Type = r.text()
		case 12:
			t.Copies = append(t.Copies, lifecycle.CopyFacts{})
			r.group(func(r *reader) { readCopy(r, &t.Copies[len(t.Copies)-1]) })
		case 13:
			t.Completed = append(t.Completed, lifecycle.Completed{})
			r.group(func(r *reader) { readCompleted(r, &t.Completed[len(t.Completed)-1]) })
		case 14:
			t.Steps = append(t.Steps, lifecycle.StepFacts{})
			r.group(func(r *reader) { readStep(r, &t.Steps[len(t.Steps)-1]) })
		}
	}
	if r.err != nil {
		return lifecycle.TaskFacts{}, fmt.Errorf("read facts of task %q: %w", id, r.err)
	}
	return t, nil
}

func readHead(r *reader, h *lifecycle.Head) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			h.Generation = int(r.int())
		case 2:
			h.Key = readKey(r)
		}
	}
}

func readKey(r *reader) (k lifecycle.MessageKey) {
	r.group(func(r *reader) {
		for field := r.next(); field != 0; field = r.next() {
			switch field {
			case 1:
				k.Stream.Account = r.text()
			case 2:
				k.Stream.Domain = r.text()
			case 3:
				k.Stream.Name = r.text()
			case 4:
				k.Stream.Epoch = r.at()
			case 5:
				k.Seq = r.uint()
			}
		}
	})
	return k
}

func readPublish(r *reader, into map[string]lifecycle.PublishFacts) {
	id, p := "", lifecycle.PublishFacts{}
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			id = r.text()
		case 2:
			p.Attempts = append(p.Attempts, lifecycle.PublishAttempt{})
			r.group(func(r *reader) { readPublishAttempt(r, &p.Attempts[len(p.Attempts)-1]) })
		case 3:
			p.Stored = append(p.Stored, readKey(r))
		case 4:
			p.StoredAt = r.at()
		}
	}
	into[id] = p
}

func readPublishAttempt(r *reader, a *lifecycle.PublishAttempt) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			a.At = r.at()
		case 2:
			a.ID = lifecycle.EventID(r.uint())
		}
	}
}

func readReport(r *reader, f *lifecycle.ReportFacts) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			f.MsgID = r.text()
		case 2:
			f.Attempt = int(r.int())
		case 3:
			f.ClaimedAt = r.at()
		case 4:
			f.AcceptedAt = r.at()
		case 5:
			f.BeatAt = r.at()
		case 6:
			f.CompletedAt = r.at()
		case 7:
			f.FailedAt = r.at()
		case 8:
			f.FailedWhy = r.text()
		case 9:
			f.SentAt = r.at()
		case 10:
			f.ReceiptAt = r.at()
		case 11:
			f.CheckpointAt = r.at()
		case 12:
			f.Owner = r.text()
		case 13:
			f.LeaseVersion = r.uint()
		case 14:
			f.LeaseExpiresAt = r.at()
		case 15:
			f.DuplicateAt = r.at()
		case 16:
			f.RecordsWait = time.Duration(r.int())
		case 17:
			f.Agent = r.text()
		}
	}
}

func readCompletion(r *reader, c *lifecycle.CompletionFacts) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			c.At = r.at()
		case 2:
			c.Agent = r.text()
		case 3:
			c.Key = r.text()
		case 4:
			c.PayloadHash = r.text()
		case 5:
			c.ExpiresAt = r.at()
		case 6:
			c.Source = r.text()
		}
	}
}
