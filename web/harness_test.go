package web_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/fleet"
	"fleetglass/internal/httperr"
	"fleetglass/internal/live"
	"fleetglass/internal/routes"
	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/web"
	"fleetglass/web/webtest"
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// site is a running set of pages over a store of its own.
type site struct {
	URL   string
	store lifecycle.Store
	add   lifecycle.Appender // Publishes what changes.
	clock *clock
	hub   *live.Hub
	kill  func() // Ends the server at once, as a crash does.
	drop  func() // Cuts all connections; the server goes on.
}

// noon is when the fleets of these tests are looked at.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// setup is what tests change about a site before it runs.
type setup struct {
	web.Config
	Store      lifecycle.Store
	Duplicates query.DuplicatesConfig
	Tokens     *access.Tokens                                  // Who is let in; nil for everybody, with every right.
	Around     func() (func(http.Handler) http.Handler, error) // What stands between network and pages; nil for nothing.
}

func newSite(t testing.TB, batch lifecycle.Batch, edit ...func(*setup)) *site {
	t.Helper()
	hub := live.NewHub(1000)
	s := &site{clock: &clock{now: noon}, hub: hub}
	store, err := webtest.Store(context.Background(), t.TempDir(), s.clock.Now, batch)
	if err != nil {
		t.Fatal(err)
	}
	s.store, s.add = store, live.Wrap(store, hub)
	cfg := setup{Store: store, Config: web.Config{Hub: hub, Now: s.clock.Now, Health: webtest.Healthy(s.clock.Now), Environment: "test"}}
	for _, f := range edit {
		f(&cfg)
	}
	cfg.Query = ask(t, cfg)
	pages, err := web.New(cfg.Config)
	if err != nil {
		t.Fatal(err)
	}
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	router := routes.New(engine, routes.Config{Tokens: cmp.Or(cfg.Tokens, access.Unprotected()), Authorizer: cfg.Access})
	pages.Register(router)
	engine.NoRoute(pages.NotFound)
	router.Get("/refused", access.Read, func(c *gin.Context) { pages.Refuse(c, httperr.New(httperr.ScopeMissing, nil)) })
	server := httptest.NewServer(around(t, cfg, engine))
	s.URL, s.drop = server.URL, server.CloseClientConnections
	s.kill = func() {
		_ = server.Listener.Close()
		server.CloseClientConnections()
	}
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		_ = store.Close()
	})
	return s
}

func around(t testing.TB, cfg setup, pages http.Handler) http.Handler {
	t.Helper()
	if cfg.Around == nil {
		return pages
	}
	wrap, err := cfg.Around()
	if err != nil {
		t.Fatal(err)
	}
	return wrap(pages)
}

// ask answers from what the pages are configured with.
func ask(t testing.TB, cfg setup) *query.Service {
	t.Helper()
	s, err := query.New(query.Config{Alerts: boardOf(cfg), Store: cfg.Store, Entries: entriesOf(cfg.Store), AgentOf: fleet.AgentOfWorker, Health: cfg.Health, Reconcile: cfg.Reconcile, Duplicates: cfg.Duplicates, Now: cfg.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// append stores a batch and tells the pages.
func (s *site) append(t testing.TB, b lifecycle.Batch) {
	t.Helper()
	if _, err := s.add.Append(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// fetch asks for a page. The caller closes the body.
func (s *site) fetch(t testing.TB, path string, header http.Header) *http.Response {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// get fetches a page and parses it.
func (s *site) get(t testing.TB, path string, want int, cookies ...string) *goquery.Document {
	t.Helper()
	answer := s.fetch(t, path, http.Header{"Cookie": {strings.Join(cookies, "; ")}})
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != want {
		t.Fatalf("GET %s: got %d, want %d", path, answer.StatusCode, want)
	}
	doc, err := goquery.NewDocumentFromReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// tab is a browser tab that notes everything that should not happen.
type tab struct {
	ctx  context.Context
	site *site

	mu       sync.Mutex
	problems []string
}

func openTab(t testing.TB, browser context.Context, s *site) *tab {
	t.Helper()
	b := &tab{ctx: testkit.Tab(t, browser), site: s}
	if err := chromedp.Listen(b.ctx, b.listen); err != nil {
		t.Fatalf("listen to tab: %v", err)
	}
	for _, err := range []error{call(b, network.Enable, network.EnableParams{}), call(b, log.Enable, cdp.Empty{}), call(b, runtime.Enable, cdp.Empty{}),
		call(b, network.ClearBrowserCookies, cdp.Empty{})} {
		if err != nil {
			t.Fatalf("enable events: %v", err)
		}
	}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range b.problems {
			t.Errorf("in the browser: %s", p)
		}
	})
	return b
}

func call[P, R any](b *tab, cmd cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(b.ctx, cmd, params)
	return err
}

func (b *tab) listen(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			b.note("console %s: %+v", e.Type, e.Args)
		}
	case *runtime.EventExceptionThrown:
		b.note("exception: %+v %+v", e.ExceptionDetails, e.ExceptionDetails.Exception)
	case *log.EventEntryAdded: // Reports of the content security policy come here.
		onPurpose := failing[strings.TrimPrefix(e.Entry.URL, b.site.URL)] && strings.HasPrefix(e.Entry.Text, "Failed to load resource")
		if (e.Entry.Level == "error" || e.Entry.Level == "warning") && !onPurpose {
			b.note("log %s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, b.site.URL) && !strings.HasPrefix(u, "about:") && !strings.HasPrefix(u, "data:") {
			b.note("request to another host: %s", u)
		}
	}
}

func (b *tab) note(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// do runs actions and fails the test when one fails.
func (b *tab) do(t testing.TB, what string, actions ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, 40*time.Second)
	defer stop()
	if err := chromedp.Do(ctx, actions...); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// open loads a page and waits until its scripts run.
func (b *tab) open(t testing.TB, path string) {
	t.Helper()
	b.do(t, "open "+path, chromedp.Navigate(b.site.URL+path), chromedp.WaitReady(chromedp.CSS("html[data-ready]")))
}

// eval evaluates an expression.
func eval[T any](t testing.TB, b *tab, expression string) T {
	t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return out
}

// run evaluates a statement for its effect.
func (b *tab) run(t testing.TB, statement string) {
	t.Helper()
	b.do(t, statement, chromedp.Evaluate[chromedp.Void](statement))
}

// back goes back in the history, once the script that says so has ended: a page that is left answers no more.
func (b *tab) back(t testing.TB) {
	t.Helper()
	b.run(t, `setTimeout(() => history.back())`)
}

// click clicks the first element that a selector finds.
func (b *tab) click(t testing.TB, selector string) {
	t.Helper()
	b.do(t, "click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// until waits until an expression is true.
func (b *tab) until(t testing.TB, expression string) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, func() error { return b.holds(expression) })
}

// untilLater is until while time passes: an answer that was computed just before a change is shared until the clock has moved on.
func (b *tab) untilLater(t testing.TB, expression string) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, func() error {
		b.site.clock.Advance(100 * time.Millisecond)
		return b.holds(expression)
	})
}

// holds errors where an expression is not true.
func (b *tab) holds(expression string) error {
	ok, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](expression))
	if err == nil && !ok {
		err = fmt.Errorf("not true: %s", expression)
	}
	return err
}

// press sends keys to the page.
func (b *tab) press(t testing.TB, keys string, options ...chromedp.KeyOption) {
	t.Helper()
	b.do(t, "press "+keys, chromedp.KeyEvent(keys, options...))
}

// setZone makes the browser live in a time zone.
func (b *tab) setZone(t testing.TB, zone string) {
	t.Helper()
	if err := call(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: zone}); err != nil {
		t.Fatalf("set zone: %v", err)
	}
}

// enter presses Enter as a keyboard does: a key whose press is handled types nothing.
func (b *tab) enter(t testing.TB) {
	t.Helper()
	for _, kind := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp} {
		key := input.DispatchKeyEventParams{Type: kind, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13}
		if err := call(b, input.DispatchKeyEvent, key); err != nil {
			t.Fatalf("press Enter: %v", err)
		}
	}
}

// gzipped is the size of text once it is compressed as servers do.
func gzipped(text []byte) int {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(text)
	_ = w.Close()
	return out.Len()
}

// entriesOf is the part of a store that keeps dead letters; nil where it keeps none.
func entriesOf(s lifecycle.Store) query.EntryStore {
	entries, _ := s.(query.EntryStore)
	return entries
}
