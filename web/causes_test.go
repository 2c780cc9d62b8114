package web_test

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/web/webtest"
)

func TestEachReasonLeadsToExactlyItsDeadLetters(t *testing.T) {
	t.Parallel()
	s := newSite(t, webtest.Rich(noon).Batch)
	links := map[string]string{}
	rows := s.get(t, "/", 200).Find("#causes tbody tr")
	rows.Each(func(_ int, row *goquery.Selection) {
		name := strings.TrimSpace(row.Find("th").Text())
		href, _ := row.Find("th a").Attr("href")
		if other, taken := links[href]; taken {
			t.Errorf("%s and %s have one link: %s", other, name, href)
		}
		links[href] = name
		want := strings.TrimSpace(row.Find("td.num").Text())
		if got := strings.TrimSpace(s.get(t, href, 200).Find("#summary").Text()); !strings.HasPrefix(got, want+" message") {
			t.Errorf("%s: %s messages, and its link lists %q", name, want, got)
		}
	})
	if rows.Length() < 3 {
		t.Errorf("%d reasons", rows.Length())
	}
}
