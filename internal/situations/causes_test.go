//go:build linux

package situations

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// causes are how messages die, and in whose words: the header of the task, the list, the search and the groups of dead letters say the same.
var causes = []situation{{
	name: "a worker gives a message up and says why",
	act: func(c *clients) {
		c.publish(publish{})
		c.term(c.pull(c.workers()), "the token budget is exceeded")
	},
	may: all(is("terminated", "dead_lettered"), causeIs("the token budget is exceeded")),
}, {
	name: "a message is handed back until no attempt is left, and its agent reports why",
	act: func(c *clients) {
		c.publish(publish{})
		worker := c.workers(atMost(2))
		for n := range 2 {
			m := c.pull(worker)
			c.report(c.agent, "failed", "", map[string]any{"message_id": c.task(""), "attempt": n + 1, "reason": "the provider refuses the model"})
			c.answer(m, "-NAK")
		}
	},
	may: all(is("exhausted", "dead_lettered"), causeIs("the provider refuses the model")),
}, {
	name: "an agent reports a failure and never answers",
	act: func(c *clients) {
		c.publish(publish{})
		c.pull(c.workers(atMost(1), wait(time.Second)))
		c.report(c.agent, "failed", "", map[string]any{"message_id": c.task(""), "attempt": 1, "reason": "the schema is not valid"})
	},
	may: all(is("exhausted", "dead_lettered"), causeIs("the schema is not valid")),
}}

// causeIs holds when the page of the task, the list of tasks, the search and the groups of dead letters all say why it died.
func causeIs(reason string) claim {
	return func(s story) error {
		t := s.told()
		if t == nil {
			return errors.New("nothing is known of it")
		}
		page, err := s.glass.page(s, "/tasks/"+url.PathEscape(t.TaskID))
		if err != nil {
			return err
		}
		_, main, _ := strings.Cut(page, "<main")
		if head, _, _ := strings.Cut(main, "Who owns it?"); !strings.Contains(head, reason) {
			return fmt.Errorf("the header does not say %q", reason)
		}
		var list struct {
			Data []struct {
				TaskID string `json:"task_id"`
				Reason string
			}
		}
		if err := s.glass.ask(s.ctx, "/api/v1/tasks?"+url.Values{"agent": {t.Agent}, "q": {`"` + reason + `"`}}.Encode(), &list); err != nil {
			return err
		}
		if len(list.Data) != 1 || list.Data[0].TaskID != t.TaskID || list.Data[0].Reason != reason {
			return fmt.Errorf("the search for %q finds %+v", reason, list.Data)
		}
		var groups struct {
			Data []struct{ Values map[string]string }
		}
		if err := s.glass.ask(s.ctx, "/api/v1/dlq/groups?"+url.Values{"agent": {t.Agent}, "by": {"agent,fingerprint"}}.Encode(), &groups); err != nil {
			return err
		}
		if len(groups.Data) != 1 || groups.Data[0].Values["fingerprint"] != reason {
			return fmt.Errorf("the groups are %+v, want one of %q", groups.Data, reason)
		}
		return nil
	}
}

// page is what a browser is given.
func (g *glass) page(s story, path string) (string, error) {
	g.up.RLock()
	defer g.up.RUnlock()
	request, err := http.NewRequestWithContext(s.ctx, http.MethodGet, g.base+path, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return string(text), err
}
