package rowcodec

import (
	"fmt"

	"fleetglass/lifecycle"
)

// AppendSummary appends the summary of a task, without its id and without its message.
func AppendSummary(b []byte, s *lifecycle.TaskSummary) []byte {
	return written((*taskSummaryRow)(s).MarshalMsg(b))
}

// ReadSummary adds to s, which names its task and message already, what AppendSummary wrote.
func ReadSummary(s *lifecycle.TaskSummary, b []byte, shared Texts) error {
	if err := read((*taskSummaryRow)(s).UnmarshalMsg(b)); err != nil {
		return fmt.Errorf("read summary of task %q: %w", s.TaskID, err)
	}
	shared.shareAll(s)
	return nil
}

// Texts holds texts that many summaries share, so that a list keeps each of them once. A nil Texts shares nothing.
type Texts map[string]string

func (t Texts) shareAll(s *lifecycle.TaskSummary) {
	if t == nil {
		return
	}
	s.State, s.Died, s.Outcome = share(t, s.State), share(t, s.Died), share(t, s.Outcome)
	s.Rule, s.Agent, s.Type = share(t, s.Rule), share(t, s.Agent), share(t, s.Type)
	s.Consumer, s.Category, s.Reason = share(t, s.Consumer), share(t, s.Category), share(t, s.Reason)
	for i, a := range s.Anomalies {
		s.Anomalies[i] = share(t, a)
	}
}

func share[T ~string](t Texts, text T) T {
	shared, known := t[string(text)]
	if !known {
		shared = string(text)
		t[shared] = shared
	}
	return T(shared)
}
