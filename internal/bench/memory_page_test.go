//go:build linux

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"fleetglass/api"
	"fleetglass/lifecycle"
	"fleetglass/static"
	"fleetglass/views"

	"github.com/a-h/templ"
)

// memoryOrder says what a server from memory serves: the rows that the store gave, and the answer that the API gave.
type memoryOrder struct{ Listen, File string }

// remembered is what the page and the list are made of.
type remembered struct {
	Tasks  []lifecycle.TaskSummary
	Counts map[lifecycle.State]int64
	Facets lifecycle.Facets
	List   api.List[api.TaskRow]
}

// beTheMemory serves the task list from memory: the same templ page, and the same rows as JSON, with nothing else around them.
func beTheMemory(text []byte) error {
	var o memoryOrder
	if err := json.Unmarshal(text, &o); err != nil {
		return err
	}
	content, err := os.ReadFile(o.File)
	if err != nil {
		return err
	}
	var m remembered
	if err := json.Unmarshal(content, &m); err != nil {
		return err
	}
	assets, err := static.New()
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/tasks", m.servePage(assets))
	mux.HandleFunc("/api/v1/tasks", m.serveList)
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", o.Listen)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (m *remembered) servePage(assets *static.Assets) http.HandlerFunc {
	shell, page := m.shell(), m.page()
	return func(w http.ResponseWriter, r *http.Request) {
		ctx := views.With(r.Context(), views.Env{Asset: assets.URL, Zone: time.UTC, Now: lifecycle.MicrosOf(time.Now())})
		var buf bytes.Buffer
		if err := views.Page(shell).Render(templ.WithChildren(ctx, views.Tasks(page)), &buf); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Length", strconv.Itoa(buf.Len()))
		_, _ = buf.WriteTo(w) // The reader may leave.
	}
}

func (m *remembered) serveList(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(m.List) // The reader may leave.
}

func (m *remembered) shell() views.Shell {
	s := views.Shell{Title: "Tasks", Section: "tasks", UTC: true, Here: "/tasks", Live: "/live", Freshness: views.Freshness{
		Tone: "ok", At: lifecycle.MicrosOf(time.Now()), Href: "/capture", Notice: "Every collector is up to date.",
	}}
	for _, name := range []string{"Overview", "Tasks", "In flight", "DLQ", "Duplicates", "Agents", "Capture"} {
		section := strings.ReplaceAll(strings.ToLower(name), " ", "-")
		s.Nav = append(s.Nav, views.NavItem{Section: section, Href: "/" + section, Icon: "tasks", Label: name, Count: "7", Said: "7 of them"})
	}
	for _, name := range []string{"store", "nats", "streams", "publishes", "attempts", "acks", "advisories", "reports", "idempotency", "broker state"} {
		s.Freshness.Parts = append(s.Freshness.Parts, views.FreshPart{Name: name, Text: "up to date, 1 s ago", Tone: "ok"})
	}
	return s
}

func (m *remembered) page() views.TasksPage {
	share := "/tasks?sort=-last_event"
	p := views.TasksPage{
		Heading: "Tasks", Action: "/tasks", First: true, FirstHref: "/tasks", Summary: fmt.Sprintf("%d tasks, newest first by last event", len(m.Tasks)),
		Links: views.ViewLinks{
			Share: share, JSON: "/api/v1/tasks?sort=-last_event",
			Curl: `curl -sS -H "Authorization: Bearer $FLEETGLASS_TOKEN" 'http://127.0.0.1:8080/api/v1/tasks?sort=-last_event'`,
		},
		ByLast: views.SortLink{Href: "/tasks?sort=last_event", Dir: "descending"}, ByPublished: views.SortLink{Href: "/tasks?sort=-published"},
		Pager: views.Pager{Older: "/tasks?cursor=bzE3NjM2NTY4MDAwMDAwMDAuMDEyMzQ1Njc4OWFiY2RlZi1jb2RlLXJldmlldw", Note: "50 rows, 20 Nov 16:20 to 20 Nov 16:25 UTC"},
	}
	p.States = []views.Tab{{Href: "/tasks", Label: "All", Count: "28,571", Current: true}}
	for _, s := range lifecycle.States() {
		if m.Counts[s] > 0 {
			icon, tone, word := views.StateLook(s)
			p.States = append(p.States, views.Tab{Href: "/tasks?state=" + string(s), Label: word, Icon: icon, Tone: tone, Count: views.Count(m.Counts[s])})
		}
		p.Search.Suggestions = append(p.Search.Suggestions, views.Option{Value: "state:" + string(s), Label: s.Meaning()})
	}
	for _, label := range []string{"Any time", "Last 15 minutes", "Last hour", "Last 6 hours", "Last 24 hours", "Last 7 days", "Last 30 days"} {
		p.Ranges = append(p.Ranges, views.Option{Value: "24h", Label: label})
		p.Search.Suggestions = append(p.Search.Suggestions, views.Option{Value: "from:24h", Label: label})
	}
	p.Facets = []views.Facet{{Name: "agent", Legend: "Agent"}, {Name: "type", Legend: "Type (of the last week)"}, {Name: "anomaly", Legend: "Anomaly"}}
	for _, a := range slices.Sorted(maps.Keys(m.Facets.Agents)) {
		p.Agents = append(p.Agents, views.Chip{Href: "/tasks?agent=" + a, Label: a, Count: "4k"})
		p.Facets[0].Choices = append(p.Facets[0].Choices, views.FacetChoice{Value: a, Label: a, Count: "4k"})
		p.Search.Suggestions = append(p.Search.Suggestions, views.Option{Value: "agent:" + a, Label: "4,081 tasks"})
	}
	for _, t := range slices.Sorted(maps.Keys(m.Facets.Types)) {
		p.Facets[1].Choices = append(p.Facets[1].Choices, views.FacetChoice{Value: t, Label: t, Count: "4k"})
		p.Search.Suggestions = append(p.Search.Suggestions, views.Option{Value: "type:" + t, Label: "4,081 in the last week"})
	}
	for _, code := range []lifecycle.AnomalyCode{lifecycle.AnomalyLateAck, lifecycle.AnomalyOrphaned, lifecycle.AnomalySilentAttempt, lifecycle.AnomalyCompletedAndDead,
		lifecycle.AnomalyPublishUnseen, lifecycle.AnomalyNotStored, lifecycle.AnomalyClockSkew, lifecycle.AnomalyVanished} {
		p.Facets[2].Choices = append(p.Facets[2].Choices, views.FacetChoice{Value: string(code), Label: views.AnomalyWord(code)})
		p.Search.Suggestions = append(p.Search.Suggestions, views.Option{Value: "anomaly:" + string(code), Label: code.Meaning()})
	}
	for _, t := range m.Tasks {
		p.Rows = append(p.Rows, views.TaskRow{TaskSummary: t, Href: "/tasks/" + url.PathEscape(t.TaskID), Ran: t.Running})
	}
	return p
}
