package oneanswer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"fleetglass/api"
	"fleetglass/views"
)

// What the charts of a day say is what the API says, step by step; their sums are the cards above them, and what the overview says of the day.
func TestPageAndAPIShowTheSameHistory(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	h, doc := answer[api.History](b, "/stats/history?range=24h"), b.page("/statistics?range=24h")
	var published, completed int64
	for i, s := range h.Steps {
		cells := doc.Find("#flow tbody tr").Eq(i).Find("td")
		if s.Published == nil {
			equal(t, fmt.Sprint("step ", i), text(cells), "not observed")
			continue
		}
		published, completed = published+*s.Published, completed+*s.Completed
		prefix := ""
		if s.Observed == "part" {
			prefix = "at least "
		}
		equal(t, fmt.Sprint("published in step ", i), text(cells.Eq(0)), prefix+views.Count(*s.Published))
		equal(t, fmt.Sprint("completed in step ", i), text(cells.Eq(1)), prefix+views.Count(*s.Completed))
		depth := "not observed"
		if s.QueueDepth != nil {
			depth = views.Count(*s.QueueDepth)
		}
		equal(t, fmt.Sprint("queue in step ", i), text(doc.Find("#queue tbody tr").Eq(i).Find("td")), depth)
	}
	equal(t, "published", figureOf(doc, "Published"), views.Count(published))
	equal(t, "completed", figureOf(doc, "Completed"), views.Count(completed))
	day := text(b.page("/").Find("#day"))
	if want := fmt.Sprintf("24 h: %s published, %s completed, ", views.Count(published), views.Count(completed)); !strings.HasPrefix(day, want) {
		t.Errorf("the overview says %q, want %q", day, want)
	}
	fleet := answer[api.FleetStats](b, "/stats/fleet")
	equal(t, "published in the figures of the fleet", fmt.Sprint(*fleet.Figures.Published.Value), fmt.Sprint(float64(published)))
	if published == 0 || completed == 0 {
		t.Error("nothing is compared")
	}
}

// figureOf is the value of a card.
func figureOf(doc *goquery.Document, label string) string {
	return text(doc.Find("#stats a").FilterFunction(func(_ int, s *goquery.Selection) bool { return text(s.Find(".k")) == label }).Find(".v"))
}

// The table beside the map says what the API says, and its sums are those of the agents.
func TestPageAndAPIShowTheSameMap(t *testing.T) {
	t.Parallel()
	b := newBoth(t)
	m, doc := answer[api.FleetMap](b, "/stats/map"), b.page("/map")
	rows := doc.Find("#map-rows tr")
	equal(t, "rows", rows.Length(), len(m.Agents))
	agents := map[string]api.Agent{}
	for _, a := range answer[api.List[api.Agent]](b, "/agents?limit=200").Data {
		agents[a.Agent] = a
	}
	for i, a := range m.Agents {
		row := rows.Eq(i)
		cell := func(label string) string { return text(row.Find(`[data-label="` + label + `"]`)) }
		equal(t, "name", text(row.Find("th")), string(a.Agent))
		for label, n := range map[string][2]int64{
			"published": {a.Published, a.HourPublished}, "completed": {a.Completed, a.HourCompleted}, "failed attempts": {a.Failed, a.HourFailed}, "died": {a.Died, a.HourDied},
		} {
			equal(t, string(a.Agent)+" "+label, cell(label), views.Count(n[0])+" "+views.Count(n[1])+"/h")
		}
		var day, hour [2]int64
		for _, typ := range a.Types {
			hour[0], hour[1] = hour[0]+typ.HourPublished, hour[1]+typ.HourCompleted
			for _, from := range typ.From {
				day[0], day[1] = day[0]+from.Published, day[1]+from.HourPublished
			}
		}
		equal(t, string(a.Agent)+" by publisher", day, [2]int64{a.Published, a.HourPublished})
		equal(t, string(a.Agent)+" by type", hour, [2]int64{a.HourPublished, a.HourCompleted})
		equal(t, string(a.Agent)+" now", cell("now"), fmt.Sprintf("%d in flight, %s waiting", a.InFlight, views.Count(a.Waiting)))
		of := agents[string(a.Agent)]
		equal(t, string(a.Agent)+" of the agents", fmt.Sprint(a.Published, a.Completed, a.Failed, a.Died, a.InFlight),
			fmt.Sprint(of.Throughput.PublishedDay, of.Throughput.CompletedDay, of.Failures.AttemptsDay, of.Failures.DiedDay, of.InFlight))
		if doc.Find(`#map a.place[aria-label^="`+string(a.Agent)+`:"]`).Length() != 1 {
			t.Errorf("%s is not on the map", a.Agent)
		}
	}
	equal(t, "agents", len(m.Agents), len(agents))
}
