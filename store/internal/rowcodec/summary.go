package rowcodec

import (
	"fmt"
	"time"

	"fleetglass/lifecycle"
)

// AppendSummary appends the summary of a task, without its id and without its message.
func AppendSummary(b []byte, s *lifecycle.TaskSummary) []byte {
	w := writer(b)
	w.bool(1, s.Listed)
	w.text(2, string(s.State))
	w.text(3, s.Rule)
	w.text(4, s.Agent)
	w.text(5, s.Type)
	w.text(6, s.Title)
	w.text(7, s.Consumer)
	w.int(8, int64(s.Generation))
	w.int(9, int64(s.Attempt))
	w.int(10, int64(s.Messages))
	w.at(11, s.PublishedAt)
	w.at(12, s.LastEventAt)
	w.at(13, s.StateSince)
	w.at(14, s.EndedAt)
	w.int(15, int64(s.Waiting))
	w.int(16, int64(s.Running))
	w.int(17, int64(s.Duplicates))
	w.text(18, s.Category)
	for _, a := range s.Anomalies {
		w.element(19, string(a))
	}
	w.text(20, string(s.Outcome))
	w.text(21, string(s.Died))
	w.text(22, s.Reason)
	return w
}

// Texts are those that many summaries share, so that a list has each of them once. Nil shares nothing.
type Texts map[string]string

func (t Texts) share(b []byte) string {
	if shared, known := t[string(b)]; known {
		return shared
	}
	text := string(b)
	if t != nil {
		t[text] = text
	}
	return text
}

// ReadSummary adds to s, which names its task and message already, what AppendSummary wrote.
func ReadSummary(s *lifecycle.TaskSummary, b []byte, shared Texts) error {
	r := reader{rest: b}
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			s.Listed = r.bool()
		case 2:
			s.State = lifecycle.State(shared.share(r.data))
		case 3:
			s.Rule = shared.share(r.data)
		case 4:
			s.Agent = shared.share(r.data)
		case 5:
			s.Type = shared.share(r.data)
		case 6:
			s.Title = r.text()
		case 7:
			s.Consumer = shared.share(r.data)
		case 8:
			s.Generation = int(r.int())
		case 9:
			s.Attempt = int(r.int())
		case 10:
			s.Messages = int(r.int())
		case 11:
			s.PublishedAt = r.at()
		case 12:
			s.LastEventAt = r.at()
		case 13:
			s.StateSince = r.at()
		case 14:
			s.EndedAt = r.at()
		case 15:
			s.Waiting = time.Duration(r.int())
		case 16:
			s.Running = time.Duration(r.int())
		case 17:
			s.Duplicates = int(r.int())
		case 18:
			s.Category = shared.share(r.data)
		case 19:
			s.Anomalies = append(s.Anomalies, lifecycle.AnomalyCode(shared.share(r.data)))
		case 20:
			s.Outcome = lifecycle.Outcome(shared.share(r.data))
		case 21:
			s.Died = lifecycle.State(shared.share(r.data))
		case 22:
			s.Reason = shared.share(r.data)
		}
	}
	if r.err != nil {
		return fmt.Errorf("read summary of task %q: %w", s.TaskID, r.err)
	}
	return nil
}
