package web_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/web/webtest"
)

// A number beside an agent is the number of tasks in the list that it leads to.
func TestChoicesLeadToAsManyTasksAsTheySay(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for path, numbered := range map[string]bool{"/tasks": true, "/tasks?sort=published": true, "/tasks?state=completed": false, "/tasks?agent=ceo": false, "/tasks?q=agent%3Amarketing+PR": false} {
		page := s.get(t, path, 200)
		numbers := page.Find("#chips .n")
		if (numbers.Length() > 0) != numbered {
			t.Errorf("%s: %d agents have a number", path, numbers.Length())
		}
		if n := page.Find("#facets .n").Length(); (n > 0) != numbered {
			t.Errorf("%s: %d filters have a number", path, n)
		}
		numbers.Each(func(_ int, n *goquery.Selection) {
			href, _ := n.Closest("a").Attr("href")
			if summary := s.get(t, href, 200).Find("#summary").Text(); !strings.HasPrefix(summary, n.Text()+" task") {
				t.Errorf("%s: %q leads to %q", path, strings.TrimSpace(n.Closest("a").Text()), summary)
			}
		})
		page.Find("#facets label:has(.n)").Each(func(_ int, choice *goquery.Selection) {
			box := choice.Find("input")
			list := "/tasks?" + url.Values{box.AttrOr("name", ""): {box.AttrOr("value", "")}}.Encode()
			if n, summary := choice.Find(".n").Text(), s.get(t, list, 200).Find("#summary").Text(); !strings.HasPrefix(summary, n+" task") {
				t.Errorf("%s says %s, and lists %q", list, n, summary)
			}
		})
	}
}

// An agent that is asked for in the box is the chip of that agent, pressed: it does not stand beside it as a second one.
func TestAnAgentInTheBoxPressesItsChip(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	for path, want := range map[string]struct{ pressed, others, without string }{
		"/tasks?q=agent%3Amarketing":                          {"marketing", "", "/tasks"},
		"/tasks?agent=marketing":                              {"marketing", "", "/tasks"},
		"/tasks?q=agent%3Amarketing+PR":                       {"marketing", "text with “PR”", "/tasks?q=PR"},
		"/tasks?q=-agent%3Amarketing":                         {"", "agent is not marketing", ""},
		"/tasks?q=agent%3Amarketing&agent=cto&sort=published": {"cto marketing", "", "/tasks?q=agent%3Amarketing&sort=published"},
	} {
		chips := s.get(t, path, 200).Find("#chips a")
		var pressed, others, without []string
		chips.Filter("[aria-current]").Each(func(_ int, c *goquery.Selection) {
			if name := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(c.Text()), "remove")); strings.Contains(name, " ") {
				others = append(others, name)
			} else {
				pressed, without = append(pressed, name), append(without, c.AttrOr("href", ""))
			}
		})
		if got := strings.Join(pressed, " "); got != want.pressed {
			t.Errorf("%s: pressed are %q, want %q", path, got, want.pressed)
		}
		if got := strings.Join(others, ", "); got != want.others {
			t.Errorf("%s: other chips are %q, want %q", path, got, want.others)
		}
		if len(without) > 0 && without[0] != want.without {
			t.Errorf("%s: the chip leads to %q, want %q", path, without[0], want.without)
		}
	}
}
