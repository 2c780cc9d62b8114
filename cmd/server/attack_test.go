package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/chromedp/chromedp"
	"github.com/nats-io/nats.go"

	"fleetglass/access"
	"fleetglass/internal/telemetry"
	"fleetglass/internal/testkit"
)

// An attacker's afternoon: each test is one way to get in, to starve the program, or to make somebody else's machine act. What is refused must be
// refused for good, and the program must serve everybody else all the while.

// logBook is a log that a test reads.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// startLogging is start with a log in the form that people read.
func startLogging(t *testing.T, cfg Config) (*running, *logBook) {
	t.Helper()
	book := &logBook{}
	log, err := telemetry.NewLog(book, "debug", "text")
	if err != nil {
		t.Fatal(err)
	}
	return startWith(t, cfg, log), book
}

func TestNoForeignPageActsWithAPersonsSession(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	b := newBrowser(t, "http://"+r.Addr())
	b.open(http.MethodPost, "/login", url.Values{"token": {secrets["admin"]}})
	home, _ := url.Parse(b.base)
	for _, route := range r.routes.Routes() {
		if route.Method == http.MethodGet || route.Method == http.MethodHead || route.Path == "/login" {
			continue
		}
		for name, header := range map[string]http.Header{
			"another site":     {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.example"}},
			"a neighbour":      {"Sec-Fetch-Site": {"same-site"}, "Origin": {"http://localhost:1"}},
			"an old browser":   {"Origin": {"https://evil.example"}},
			"a sandboxed page": {"Origin": {"null"}},
		} {
			header.Set("Content-Type", "text/plain") // What a form may send without asking.
			for _, c := range b.Jar.Cookies(home) {
				header.Add("Cookie", c.String())
			}
			if got := r.request(route.Method, example(route.Path), header, strings.NewReader(`{"action":"discard","reason":"evil"}`)); got.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s for %s: %s", route.Method, route.Path, name, got.Status)
			}
		}
	}
	if where, _, _ := b.open(http.MethodGet, "/tasks", nil); where != "/tasks" {
		t.Errorf("the person was signed out: at %s", where)
	}
}

func TestAPreparedSessionIsWorthNothing(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	const prepared = "prepared-by-somebody-else-0123456789abcdef"
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Cookie": {"fleetglass_session=" + prepared}, "Origin": {"http://" + r.Addr()}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.Addr()+"/login", strings.NewReader(url.Values{"token": {secrets["viewer"]}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) != 1 || answer.Cookies()[0].Value == prepared || !answer.Cookies()[0].HttpOnly {
		t.Fatalf("signed in: %s, %v", answer.Status, answer.Cookies())
	}
	mine := "fleetglass_session=" + answer.Cookies()[0].Value
	for cookie, want := range map[string]int{
		"fleetglass_session=" + prepared: 401, mine: 200, "fleetglass_session=" + prepared + "; " + mine: 401, "fleetglass_session=": 401,
	} {
		if got := r.request(http.MethodGet, "/api/v1/tasks", http.Header{"Cookie": {cookie}}, nil); got.StatusCode != want {
			t.Errorf("cookie %.40s…: %s, want %d", cookie, got.Status, want)
		}
	}
}

func TestGuessingTokensIsSlowedLoggedAndCounted(t *testing.T) {
	t.Parallel()
	good, entry := access.NewToken("ada", []access.Scope{access.Read}, time.Time{})
	r, book := startLogging(t, settings(t, "--auth-tokens-file", writeTokens(t, entry)))
	counts := map[int]int{}
	for n := range 60 {
		guess := fmt.Sprintf("fg_guess%036d", n)
		counts[r.request(http.MethodGet, "/api/v1/tasks", with(guess), nil).StatusCode]++
	}
	if counts[401] < 10 || counts[401] > 12 || counts[401]+counts[429] != 60 {
		t.Errorf("answers to 60 guesses: %v", counts)
	}
	if got := r.request(http.MethodGet, "/api/v1/tasks", with(good), nil); got.StatusCode != 200 {
		t.Errorf("the owner of a token behind the same address: %s", got.Status)
	}
	if n := strings.Count(book.String(), `msg="sign-in failed"`); n != counts[401] {
		t.Errorf("%d failures are logged, want %d", n, counts[401])
	}
	if strings.Contains(book.String(), "fg_guess") || strings.Contains(book.String(), good) {
		t.Error("the log holds a token")
	}
	metrics, err := io.ReadAll(r.request(http.MethodGet, "/metrics", with(good), nil).Body)
	if err != nil || !strings.Contains(string(metrics), fmt.Sprintf(`fleetglass_failed_sign_ins_total{reason="unknown"} %d`, counts[401])) {
		t.Errorf("the metric does not count %d: %v", counts[401], err)
	}
}

// raw sends bytes on a connection of its own and returns all that comes back until the server closes it.
func (r *running) raw(text string) string {
	r.t.Helper()
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(r.t.Context(), "tcp", r.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // Only read from.
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text); err != nil {
		return "" // Cut off while it was sent.
	}
	answer, _ := io.ReadAll(conn) // Cut off is an answer too.
	return string(answer)
}

func TestNoRequestHidesInAnother(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	hidden := "GET /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + secrets["admin"] + "\r\nConnection: close\r\n\r\n"
	post := "POST /api/v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for name, text := range map[string]string{
		"two lengths":             post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n" + hidden,
		"length and chunks":       post + fmt.Sprintf("Content-Length: %d\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n", len(hidden)) + hidden,
		"chunks that are not":     post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n" + hidden,
		"a space before a colon":  post + "Content-Length : 0\r\n\r\n" + hidden,
		"a bare line feed":        post + "X-A: b\nContent-Length: 0\r\n\r\nX" + hidden,
		"a length that is signed": post + "Content-Length: +5\r\n\r\nhello" + hidden,
		"a chunk of minus one":    post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n" + hidden,
		"two hosts":               "GET /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
		"no host":                 "GET /api/v1/tasks HTTP/1.1\r\n\r\n",
		"a null byte in a header": "GET /api/v1/tasks HTTP/1.1\r\nHost: localhost\r\nX-A: a\x00b\r\nConnection: close\r\n\r\n",
		"a body that is no end":   "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
	} {
		answer := r.raw(text)
		if strings.Contains(answer, "HTTP/1.1 200") || strings.Contains(answer, `"data"`) {
			t.Errorf("%s: an answer to what is hidden: %.300s", name, answer)
		}
	}
	// Headers by which a proxy says who asks, or for what, are nobody's word here.
	for name, value := range map[string]string{
		"X-Original-Url": "/healthz", "X-Rewrite-Url": "/healthz", "X-Http-Method-Override": "GET", "X-Forwarded-User": "admin", "X-Remote-User": "admin",
		"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1;host=localhost", "X-Forwarded-Prefix": "/healthz", "X-Forwarded-Path": "/healthz",
	} {
		if got := r.request(http.MethodGet, "/api/v1/tasks", http.Header{name: {value}}, nil); got.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s: %s", name, value, got.Status)
		}
	}
}

func TestNoPathLeavesTheAssets(t *testing.T) {
	t.Parallel()
	r, secrets := guarded(t)
	for _, path := range []string{
		"/static/../../../../etc/passwd", "/static/%2e%2e/%2e%2e/etc/passwd", "/static/..%2f..%2fetc%2fpasswd", "/static/..%5c..%5cetc", "/static//etc/passwd",
		"/static/%00", "/payload?message=../../etc/passwd", "/tasks/..%2f..%2f..%2fetc%2fpasswd", "/api/v1/tasks/..%2f..%2fetc%2fpasswd", "/dlq/..%2f..%2fetc",
	} {
		got := r.ask(http.MethodGet, path, secrets["admin"])
		if got.Code < 400 || strings.Contains(got.Body.String(), "root:") {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

func TestSlowClientsAreCutOffAndSlowNobodyDown(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	const clients = 300
	slow := make([]net.Conn, clients)
	for n := range slow {
		conn, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", r.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close() //nolint:errcheck // Cut off by the server.
		slow[n] = conn
		begin := []string{"GET /tasks HTTP/1.1\r\nHost: localhost\r\nX-", "G", "POST /api/v1/reports HTTP/1.1\r\nHost: localhost\r\nContent-Le"}[n%3]
		if _, err := io.WriteString(conn, begin); err != nil {
			t.Fatal(err)
		}
	}
	var tasks json.RawMessage
	if err := r.get("/api/v1/tasks", &tasks); err != nil {
		t.Errorf("a client beside them: %v", err)
	}
	for n, conn := range slow { // Each is answered or cut off soon after the time for a header.
		_ = conn.SetReadDeadline(time.Now().Add(readHeaderTimeout + patience))
		if _, err := io.ReadAll(conn); err != nil && strings.Contains(err.Error(), "timeout") {
			t.Fatalf("client %d still holds its connection", n)
		}
	}
}

func TestWhatIsTooLargeIsRefusedAndLeavesTheProgramWell(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	deep := strings.Repeat(`{"a":`, 200_000) + "1" + strings.Repeat("}", 200_000)
	arrays := strings.Repeat("[", 500_000)
	many := "[" + strings.Repeat(`{},`, 100_000) + "{}]"
	for _, tt := range []struct{ path, contentType, body string }{
		{"/api/v1/reports", "application/json", deep}, {"/api/v1/reports", "application/cloudevents-batch+json", arrays}, {"/api/v1/reports", "application/cloudevents-batch+json", many},
		{"/api/v1/preflight", "application/json", `{"agent":"cto","payload":` + deep + `}`}, {"/api/v1/operations", "application/json", deep},
		{"/api/v1/dlq/TASKS:1/actions", "application/json", `{"action":"retry","reason":"` + strings.Repeat("x", 3_000_000) + `"}`},
		{"/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + deep + `}`},
		{"/api/v1/reports", "application/json", strings.Repeat("x", 5_000_000)},
		{"/dlq/TASKS:1", "application/x-www-form-urlencoded", "reason=" + strings.Repeat("x", 5_000_000)},
		{"/dlq/TASKS:1", "application/x-www-form-urlencoded", strings.Repeat("a=b&", 900_000)},
		{"/dlq/TASKS:1", "multipart/form-data; boundary=x", strings.Repeat("--x\r\nContent-Disposition: form-data; name=a\r\n\r\nb\r\n", 50_000)},
	} {
		header := http.Header{"Content-Type": {tt.contentType}, "Idempotency-Key": {"large-1"}, "Accept": {"application/json, text/event-stream"}, "Origin": {"http://" + r.Addr()}}
		response := r.request(http.MethodPost, tt.path, header, strings.NewReader(tt.body))
		text, _ := io.ReadAll(response.Body)
		if response.StatusCode < 400 && tt.path != "/mcp" || response.StatusCode >= 500 { // Tools say in their answer what is wrong.
			t.Errorf("%s with %d bytes of %s: %s %.200s", tt.path, len(tt.body), tt.contentType, response.Status, text)
		}
	}
	connectAgent(t, r.AgentsURL()).work("after-1")
	r.completed("after-1")
}

// evil are texts that act where somebody forgets to escape them. Each would set window.pwned.
var evil = []string{
	`<script>window.pwned=1</script>`, `"><img src=x onerror=window.pwned=1>`, `'><svg onload=window.pwned=1>`, `</title><script>window.pwned=1</script>`,
	`javascript:window.pwned=1`, `--><script>window.pwned=1</script>`, `{{constructor.constructor('window.pwned=1')()}}`, `</textarea><script>window.pwned=1</script>`,
}

func TestNothingThatIsStoredRunsInABrowser(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	a := connectAgent(t, r.AgentsURL())
	for n, text := range evil {
		quoted, _ := json.Marshal(text) // A text can always be written.
		msg := nats.NewMsg("genbrain.agents.backend.tasks.code_review")
		msg.Header.Set("Nats-Msg-Id", fmt.Sprintf("evil-%d-%s", n, text))
		msg.Header.Set("X-Evil", text)
		msg.Header.Set("X-Idempotency-Key", text)
		msg.Header.Set("traceparent", text)
		msg.Data = fmt.Appendf(nil, `{"taskId":"evil-%d","type":%s,"assignee":%s,"payload":{"title":%s,%s:%s}}`, n, quoted, quoted, quoted, quoted, quoted)
		if _, err := a.js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
		a.do(a.take().TermWithReason(text))
	}
	name := nats.NewMsg("genbrain.agents.<img/src=x/onerror=window;pwned=1>.tasks.<svg/onload=window;pwned=1>")
	name.Header.Set("Nats-Msg-Id", "evil-name")
	if _, err := a.js.PublishMsg(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	entry := ""
	testkit.Eventually(t, patience, func() error {
		var list struct{ Data []struct{ ID string } }
		if err := r.get("/api/v1/dlq", &list); err != nil {
			return err
		}
		if len(list.Data) < len(evil) {
			return fmt.Errorf("%d dead letters, want %d", len(list.Data), len(evil))
		}
		entry = list.Data[0].ID
		return nil
	})
	tab := testkit.Tab(t, testkit.Browser(t))
	pages := []string{"/", "/tasks", "/tasks?q=" + url.QueryEscape(evil[0]), "/tasks?agent=" + url.QueryEscape(evil[1]), "/in-flight", "/dlq", "/dlq/" + url.PathEscape(entry),
		"/agents", "/capture", "/duplicates", "/reconciliation", "/" + url.PathEscape(evil[0]), "/login?next=" + url.QueryEscape(evil[4]), "/payload?message=TASKS:1"}
	for n := range evil {
		for _, view := range []string{"", "?tab=events", "?tab=payload", "?tab=idempotency", "?tab=related", "?tab=json"} {
			pages = append(pages, fmt.Sprintf("/tasks/evil-%d%s", n, view))
		}
	}
	const foreign = `document.querySelectorAll("script:not([src]), img[onerror], svg[onload], [onclick], [onerror], [href^='javascript:'], iframe").length + (window.pwned ? 1000 : 0)`
	for _, path := range pages {
		if err := chromedp.Do(tab, chromedp.Navigate("http://"+r.Addr()+path)); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		found, err := chromedp.Run(tab, chromedp.Evaluate[int](foreign))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if found != 0 {
			t.Errorf("%s has %d foreign elements (1000: something ran)", path, found)
		}
	}
}

func TestLogAndTablesTakeNoOrdersFromTexts(t *testing.T) {
	t.Parallel()
	const formula = "=cmd|' /C calc'!A0"
	secret, entry := access.NewToken(formula, []access.Scope{access.Read}, time.Time{})
	r, book := startLogging(t, settings(t, "--auth-tokens-file", writeTokens(t, entry)))
	r.request(http.MethodPost, "/api/v1/reconciliations", with(secret), nil) // Refused, and so in the audit.
	r.request(http.MethodGet, "/tasks/%0d%0atime=2026-11-22T00:00:00Z%20level=ERROR%20msg=forged%1b%5b2J", with(secret), nil)
	r.request(http.MethodGet, "/api/v1/tasks?state=%0d%0alevel=ERROR%20msg=forged%1b%5b2J", with(secret), nil)
	r.ask(http.MethodGet, "/api/v1/tasks", "x\x1b[2Jx\nlevel=ERROR")

	header := with(secret)
	header.Set("Accept", "text/csv")
	rows, err := csv.NewReader(r.request(http.MethodGet, "/api/v1/audit", header, nil).Body).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, cell := range rows[1] {
		if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r") {
			t.Errorf("a spreadsheet would act on the cell %q", cell)
		}
	}
	if !strings.Contains(strings.Join(rows[1], " "), "'"+formula) {
		t.Errorf("the row does not name who was refused: %q", rows[1])
	}
	for _, line := range strings.Split(strings.TrimSpace(book.String()), "\n") {
		if !strings.HasPrefix(line, "time=") || strings.HasPrefix(line, "time=2026-11-22T00:00:00Z level=ERROR") {
			t.Errorf("a line that the program did not write: %q", line)
		}
		if i := strings.IndexFunc(line, unicode.IsControl); i >= 0 {
			t.Errorf("a control character in the log: %q", line)
		}
	}
}

func TestTheKeyOfAnotherTokenRepeatsNothing(t *testing.T) {
	t.Parallel()
	first, firstEntry := access.NewToken("first", []access.Scope{access.Admin}, time.Time{})
	second, secondEntry := access.NewToken("second", []access.Scope{access.Admin}, time.Time{})
	viewer, viewerEntry := access.NewToken("viewer", []access.Scope{access.Read}, time.Time{})
	r := start(t, settings(t, "--auth-tokens-file", writeTokens(t, firstEntry, secondEntry, viewerEntry)))
	post := func(secret string) *http.Response {
		header := with(secret)
		header.Set("Idempotency-Key", "the-same-key")
		header.Set("Content-Type", "application/json")
		return r.request(http.MethodPost, "/api/v1/reconciliations", header, strings.NewReader("{}"))
	}
	if got := post(first); got.StatusCode >= 300 {
		t.Fatalf("an administrator: %s", got.Status)
	}
	if again := post(first); again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same token again: %s, %v", again.Status, again.Header)
	}
	for name, secret := range map[string]string{"a viewer": viewer, "a stranger": "fg_stranger", "nobody": ""} {
		got := post(secret)
		if got.StatusCode != 403 && got.StatusCode != 401 || got.Header.Get("Idempotency-Replayed") != "" || got.Header.Get("Location") != "" {
			t.Errorf("%s gets the reply of another: %s, %v", name, got.Status, got.Header)
		}
	}
	if other := post(second); other.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("another administrator gets the reply of the first: %s", other.Status)
	}
}

func TestNoAlertIsPostedToAPrivateAddress(t *testing.T) {
	t.Parallel()
	var called atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called.Add(1) }))
	defer inside.Close()
	named := strings.Replace(inside.URL, "127.0.0.1", "localhost", 1) // What a name resolves to counts.
	rules := writeFile(t, "rules.yaml", "rules: {orphaned_message: {for: 0s}}\n")
	r, book := startLogging(t, settings(t, "--alert-rules", rules, "--dlq-monitor", "off", "--alert-webhook", inside.URL+"/a-secret", "--alert-webhook", named+"/a-secret", "--alert-webhook", "http://169.254.169.254/latest"))
	if _, err := connectAgent(t, r.agents).js.Publish(t.Context(), "genbrain.agents.legal.tasks.review", []byte(`{"taskId":"alone"}`)); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, alertsWithin, func() error {
		var list struct {
			Data []struct {
				Delivered []struct{ To, Status, Detail string }
			}
		}
		if err := r.get("/api/v1/alerts?rule=orphaned_message", &list); err != nil {
			return err
		}
		if len(list.Data) != 1 {
			return fmt.Errorf("alerts %+v, want one", list.Data)
		}
		told := map[string]bool{}
		for _, d := range list.Data[0].Delivered { // Each is tried again and again.
			told[d.To] = true
			if d.Status != "failed" || !strings.Contains(d.Detail, "not public") || strings.Contains(d.Detail, "a-secret") {
				return fmt.Errorf("%s: %s, %s", d.To, d.Status, d.Detail)
			}
		}
		if len(told) != 3 {
			return fmt.Errorf("%v were tried, want all three", told)
		}
		return nil
	})
	if n := called.Load(); n > 0 {
		t.Errorf("a private address was called %d times", n)
	}
	if strings.Contains(book.String(), "a-secret") {
		t.Error("the log holds the path of a webhook")
	}
}
