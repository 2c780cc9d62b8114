//go:build linux

package situations

import (
	"errors"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
)

// inHands are states in which a worker has the message.
var inHands = []string{"delivered", "processing", "redelivered"}

// agreed holds when the list, the board and the page say of a task what its own story says.
func agreed(s story) error {
	t := s.told()
	if t == nil {
		return nil
	}
	if err := listed(s, t); err != nil {
		return err
	}
	if err := boarded(s, t); err != nil {
		return err
	}
	page, err := s.glass.page(s, "/tasks/"+url.PathEscape(t.TaskID))
	if err != nil {
		return err
	}
	for _, headline := range inAnswers(t.Answers, "headline") {
		if due := strings.HasPrefix(headline, "Due since "); !due && !strings.Contains(html.UnescapeString(page), headline) { // How long ago it is goes on.
			return fmt.Errorf("the page does not say %q", headline)
		}
	}
	return nil
}

// listed holds when the list of tasks has the task in its state, and takes no removal for a worker's decision.
func listed(s story, t *seen) error {
	var list struct {
		Data []struct {
			TaskID        string `json:"task_id"`
			State, Reason string
		}
	}
	if err := s.glass.ask(s.ctx, "/api/v1/tasks?"+url.Values{"q": {t.TaskID}}.Encode(), &list); err != nil {
		return err
	}
	for _, row := range list.Data {
		switch {
		case row.TaskID != t.TaskID:
		case row.State != t.State:
			return fmt.Errorf("the list says that it is %s, and its story that it is %s", row.State, t.State)
		case strings.Contains(row.Reason, "Unacknowledged message was deleted") || strings.Contains(row.Reason, "Message deleted by stream limits"):
			return fmt.Errorf("the list takes a removal for a reason: %q", row.Reason)
		default:
			return nil
		}
	}
	if len(t.Messages) == 0 {
		return nil // Of a task that only reports name nothing may have been published.
	}
	return errors.New("the list does not have it")
}

// boarded holds when the in-flight board has a task that is in a worker's hands, and does not have one that nobody has.
func boarded(s story, t *seen) error {
	var board struct {
		Data []struct {
			TaskID string `json:"task_id"`
			Beside bool
		}
	}
	if err := s.glass.ask(s.ctx, "/api/v1/in-flight?agent="+url.QueryEscape(t.Agent), &board); err != nil {
		return err
	}
	if err := boardWaits(s, t); err != nil {
		return err
	}
	free := !slices.ContainsFunc(t.Messages, func(m seenMessage) bool { return m.State != "published" && !slices.Contains(over, m.State) })
	has := false
	for _, l := range board.Data {
		has = has || (l.TaskID == t.TaskID && !l.Beside)
	}
	switch {
	case has && free:
		return fmt.Errorf("it is %s, and the board has it", t.State)
	case !has && slices.Contains(inHands, t.State):
		return fmt.Errorf("it is %s, and the board does not have it", t.State)
	}
	return nil
}

// boardWaits holds when the board says of no task that a free worker gets it of which the answers say that no worker is subscribed.
func boardWaits(s story, t *seen) error {
	if !strings.Contains(t.words(), "no worker is subscribed") || len(t.Messages) != 1 || len(t.Messages[0].Others) > 0 { // Another consumer's worker may be free.
		return nil
	}
	page, err := s.glass.page(s, "/in-flight?agent="+url.QueryEscape(t.Agent))
	if err != nil {
		return err
	}
	_, row, _ := strings.Cut(page, `data-id="`+html.EscapeString(t.TaskID)+`"`)
	if row, _, _ = strings.Cut(row, "</tr>"); strings.Contains(row, "free worker") {
		return errors.New("no worker is subscribed, and the board says that the next free worker gets it")
	}
	return nil
}

// pageSays holds when the page of the task says a text.
func pageSays(text string) claim {
	return func(s story) error {
		page, err := s.glass.page(s, "/tasks/"+url.PathEscape(s.told().TaskID))
		if err == nil && !strings.Contains(html.UnescapeString(page), text) {
			err = fmt.Errorf("the page does not say %q", text)
		}
		return err
	}
}
