//go:build linux

package situations

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"
)

// dead are the states of a message that gets no more deliveries and was not done.
var dead = []string{"exhausted", "terminated", "dead_lettered", "triaged"}

// deadLetter is what the list of dead letters says of a message.
type deadLetter struct {
	ID, Path, Status string
	Deliveries       int
	FailedAt         time.Time `json:"failed_at"`
	Plan             struct{ Eligible bool }
	Next             *struct {
		TaskID string `json:"task_id"`
	}
}

// deadTold holds when the dead letters of the world's agent are its messages that died, each told as its clients know it.
func (w *life) deadTold(s story) error {
	var page struct{ Data []deadLetter }
	if err := s.glass.ask(s.ctx, "/api/v1/dlq?limit=200&agent="+url.QueryEscape(w.agent), &page); err != nil {
		return err
	}
	for _, m := range w.letters {
		s.task = m.task
		said := s.messageAt(m.letter)
		if said == nil || s.told().Agent != w.agent {
			continue
		}
		i := slices.IndexFunc(page.Data, func(d deadLetter) bool { return d.ID == m.entry() })
		switch died := slices.Contains(dead, said.State); {
		case i >= 0 && page.Data[i].Path == "filter_rejected" && said.State == "published" && w.waitsForNobody(m):
		case died != (i >= 0):
			return fmt.Errorf("%s:%d is %s, and among the dead letters: %v", m.stream, m.seq, said.State, i >= 0)
		case died:
			if err := w.letterTold(m, page.Data[i]); err != nil {
				return fmt.Errorf("the dead letter %+v: %w", page.Data[i], err)
			}
		}
	}
	return nil
}

// letterTold holds when a dead letter says of a message what its clients know.
func (w *life) letterTold(m *mail, d deadLetter) error {
	switch {
	case *withForgery:
		return nil
	case d.Path == "terminated" && !m.terminated:
		return errors.New("no worker gave it up")
	case d.Path == "max_deliveries" && m.had+w.empty < w.fewest:
		return errors.New("it was not given to workers so often")
	case d.Deliveries > m.had+w.empty:
		return fmt.Errorf("workers had it %d times, or %d times more", m.had, w.empty)
	case d.FailedAt.Before(m.stored[0].Add(-deedSlack)) || d.FailedAt.After(time.Now().Add(deedSlack)):
		return fmt.Errorf("it was published after %s, and died before %s", m.stored[0], time.Now())
	case d.Plan.Eligible && (w.said[work{m.task, m.key}].recorded || m.reported):
		return errors.New("its work is done, and a retry is said to be safe")
	case d.Plan.Eligible && d.Next != nil:
		return errors.New("its task has a newer message, and a retry is said to be possible")
	case d.Next != nil && w.generations(m.task) < 2:
		return errors.New("nobody published another message of its task")
	}
	return nil
}
