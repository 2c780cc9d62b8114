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
