package masking

import (
	"strings"
	"testing"
	"time"

	"encoding/json"
)

func builtIn(t testing.TB) *Masker {
	t.Helper()
	m, err := New(Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWhatIsBuiltInHidesSecretsAndNothingElse(t *testing.T) {
	t.Parallel()
	m := builtIn(t)
	for body, want := range map[string]string{
		`{"z":1, "a":"x"}`: `{"z":1, "a":"x"}`, // Spelled as it was.
		`{"z":1,"password":"hunter2","a":[{"apiKey":7}]}`: `{"z":1,"password":"[masked]","a":[{"apiKey":"[masked]"}]}`,
		`{"DB_PASSWORD":{"a":[1,{"b":2}]},"c":3}`:         `{"DB_PASSWORD":"[masked]","c":3}`,
		`{"secret":null,"token":true,"accessToken":"x"}`:  `{"secret":null,"token":true,"accessToken":"[masked]"}`,
		`{"token_budget":5,"max_tokens":6,"tokenizer":"bpe","input_tokens":7,"secretary":"ada","keyboard":"k","tokens":[1]}`: `{"token_budget":5,"max_tokens":6,"tokenizer":"bpe","input_tokens":7,"secretary":"ada","keyboard":"k","tokens":[1]}`,
		`{"text":"use sk-abcdefghijklmnopqrstuvwx now"}`:                                                                     `{"text":"use [masked] now"}`,
		`{"text":"<b> & ghp_abcdefghijklmnopqrstuvwxyz0123456789"}`:                                                          `{"text":"<b> & [masked]"}`,
		`{"url":"postgres://ada:hunter2@db/fleet","web":"https://example.org/a:b@c"}`:                                        `{"url":"postgres[masked]db/fleet","web":"https://example.org/a:b@c"}`,
		`["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "eyJub3QiOiJ0aGF0In0"]`:                                   `["[masked]","eyJub3QiOiJ0aGF0In0"]`,
		`{"password":"cut off in the midd`:                                                                                   `{"password":"[masked]"`,
		"Authorization: Bearer abcdefghijklmnopqrstuvwxyz\nTopic: news":                                                      "Authorization: [masked]\nTopic: news",
		`user = "ada", "password" : [1, "hunter2"`:                                                                           `user = "ada", "password" : "[masked]"`,
		`said: {"password": "hun\"ter2", "n": 1}`:                                                                            `said: {"password": "[masked]", "n": 1}`,
		"API_KEY=hunter2 hunter3\r\nTopic = news":                                                                            "API_KEY=[masked]\nTopic = news",
		`"password":`: `"password":`, `{"password":}`: `{"password":}`,
		"plain words":                           "plain words",
		`"sk-abcdefghijklmnopqrstuvwx"`:         `"[masked]"`,
		`{"n":12345678901234567890.10,"pwd":1}`: `{"n":12345678901234567890.10,"pwd":"[masked]"}`,
	} {
		if got := string(m.Body([]byte(body))); got != want {
			t.Errorf("%s\n got %s\nwant %s", body, got, want)
		}
	}
	deep := strings.Repeat(`{"a":`, 3000) + `{"password":"hunter2"}` + strings.Repeat("}", 3000)
	if got := string(m.Body([]byte(deep))); strings.Contains(got, "hunter2") {
		t.Error("a value that is nested deeply is shown")
	}
	for name, want := range map[string]string{"Authorization": Placeholder, "X-Api-Key": Placeholder, "Cookie": Placeholder, "X-Task-ID": "v", "X-Token-Budget": "v"} {
		if got := m.Header(name, "v"); got != want {
			t.Errorf("header %s: %q", name, got)
		}
	}
	if got := m.Text("the key sk-abcdefghijklmnopqrstuvwx is refused"); got != "the key [masked] is refused" {
		t.Error(got)
	}
	var none *Masker
	if got := none.Body([]byte(`{"password":"x"}`)); string(got) != `{"password":"x"}` || none.Header("Cookie", "v") != "v" || none.Text("t") != "t" {
		t.Error("no masker hides something")
	}
}

func TestRulesAddFieldsPathsAndPatterns(t *testing.T) {
	t.Parallel()
	m, err := Parse([]byte("fields: [\"*_ssn\", Email]\npaths: [\"$.payload.customer.name\", \"items[*].iban\", \"a[0]\"]\npatterns: [{name: card, regexp: '\\b\\d{4}-\\d{4}\\b'}]\nbuilt_in: false\n"))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"us_ssn":1,"EMAIL":"a@b","name":"stays","payload":{"customer":{"name":"Ada","age":36}},"items":[{"iban":"DE1"},{"iban":"DE2","n":1}],"a":[1,2],"t":"card 1234-5678.","password":"shown"}`
	want := `{"us_ssn":"[masked]","EMAIL":"[masked]","name":"stays","payload":{"customer":{"name":"[masked]","age":36}},"items":[{"iban":"[masked]"},{"iban":"[masked]","n":1}],"a":["[masked]",2],"t":"card [masked].","password":"shown"}`
	if got := string(m.Body([]byte(body))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for pointer, want := range map[string]string{"/payload/customer/name": `"[masked]"`, "/payload/customer": `{"name":"[masked]"}`, "/items/1/iban": `"[masked]"`, "/x": `{"name":"Ada"}`, "/email/of": `"[masked]"`} {
		if got := string(m.At(pointer, []byte(`{"name":"Ada"}`))); got != want {
			t.Errorf("%s: %s, want %s", pointer, got, want)
		}
	}
	for _, wrong := range []string{"fields: ['']", "paths: ['$..a']", "patterns: [{name: a, regexp: '('}]", "patterns: [{name: a, regexp: 'x*'}]", "unknown: 1", "fields: 7", "", "# nothing"} {
		if _, err := Parse([]byte(wrong)); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

func TestOneThatFollowsHidesWhatIsHiddenNow(t *testing.T) {
	t.Parallel()
	for _, none := range []string{"fields: []", "built_in: true"} {
		if _, err := Parse([]byte(none)); err != nil {
			t.Errorf("%s: %v", none, err)
		}
	}
	rules := builtIn(t)
	m := Following(func() *Masker { return rules })
	shown := func() string {
		return string(m.Body([]byte(`{"note":"a"}`))) + m.Header("Note", "a") + m.Headers(map[string][]string{"Note": {"a"}})["Note"][0] + string(m.At("/note", []byte(`"a"`))) + m.Text("1234-5678") +
			string(m.Bytes([]byte("1234-5678"))) + string(m.HTML([]byte("1234-5678"))) + strings.TrimSpace(string(m.Answer([]byte(`"1234-5678"`))))
	}
	if got, want := shown(), `{"note":"a"}aa"a"1234-56781234-56781234-5678"1234-5678"`; got != want {
		t.Errorf("before: %s, want %s", got, want)
	}
	var err error
	if rules, err = Parse([]byte("fields: [note]\npatterns: [{name: card, regexp: '\\d{4}-\\d{4}'}]")); err != nil {
		t.Fatal(err)
	}
	if got, want := shown(), `{"note":"[masked]"}[masked][masked]"[masked]"[masked][masked][masked]"[masked]"`; got != want {
		t.Errorf("afterwards: %s, want %s", got, want)
	}
}

func TestAnswersAndPagesHideFormsAndKeepTheirOwnFields(t *testing.T) {
	t.Parallel()
	m := builtIn(t)
	const key = "sk-abcdefghijklmnopqrstuvwx"
	pem := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nAQEFAASCBKcwggSj"
	answer, err := json.Marshal(map[string]any{"token": "shown", "reason": "<b>" + key + "\" end", "pem": pem, "next": nil})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"next":null,"pem":"[masked]","reason":"\u003cb\u003e[masked]\" end","token":"shown"}` + "\n"
	if got := string(m.Answer(answer)); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	if got := string(m.HTML([]byte(`<a href="/tasks/` + key + `">` + key + `</a> postgres://a:b@c <a href="http://x">y:z@</a>`))); strings.Contains(got, key) || !strings.Contains(got, `<a href="http://x">y:z@</a>`) {
		t.Errorf("page %s", got)
	}
}

// FuzzBody holds that a masked JSON body is JSON, and that what is hidden once stays as it is.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{`{"password":"x"}`, `[1,{"token":"y"}]`, `{"a":"sk-abcdefghijklmnopqrstuvwx"}`, `{"password":`, "\xff", `{"a":1}{"b":2}`} {
		f.Add([]byte(seed))
	}
	m := builtIn(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		got := m.Body(body)
		if json.Valid(body) && !json.Valid(got) {
			t.Errorf("%q became %q", body, got)
		}
		if again := m.Body(got); json.Valid(body) && string(again) != string(got) {
			t.Errorf("%q, then %q", got, again)
		}
	})
}

// FuzzHints holds that a text in which a form occurs has a hint of it.
func FuzzHints(f *testing.F) {
	for _, seed := range []string{
		"task-sk-abcdefghijklmnopqrstuvwx", "é" + "sk-abcdefghijklmnopqrstuvwx", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "xghp_abc ghs_abcdefghijklmnopqrstuvwxyz0123456789",
		"github_pat_abcdefghijklmnopqrstuvwxyz0123456789", "glpat-abcdefghijklmnopqrstuvwx", "xoxb-1234567890", "AKIAABCDEFGHIJKLMNOP", "AIzaabcdefghijklmnopqrstuvwxyz012345678",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "-----BEGIN PRIVATE KEY-----", "BeArEr abcdefghijklmnopqrstuvwxyz", "İ bearer bearer abcdefghijklmnopqrstuvwxyz",
		strings.Repeat("sk-not ", maxTries+1) + "sk-abcdefghijklmnopqrstuvwx", "xoxsk-abcdefghijklmnopqrstuvwx-sk-abcdefghijklmnopqrstuvwx", "postgres://ada:hunter2@db",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, form := range tokenForms {
			if !form.mayOccur(text) && form.shape.MatchString(text) {
				t.Errorf("%q has the form %s and no hint of it", text, form.shape)
			}
		}
	})
}

// Eight times the text takes about eight times as long, never the square of it. The fastest of three is compared, because others use the machine too; what takes less
// than a second is never too long.
func TestNoTextIsCostlyToSearch(t *testing.T) {
	t.Parallel()
	m := builtIn(t)
	fastest := func(text []byte) time.Duration {
		least := time.Hour
		for range 3 {
			began := time.Now()
			m.HTML(text)
			least = min(least, time.Since(began))
		}
		return least
	}
	for _, hint := range []string{"eyJ-", "eyJ", "sk-", "-sk-", "Bearer ", "bearer\n\t", "AKIA ", "://a", "PRIVATE KEY"} {
		text := []byte(strings.Repeat(hint, 1<<18/len(hint)))
		if part, all := fastest(text[:len(text)/8]), fastest(text); all > 30*part && all > time.Second {
			t.Errorf("%q: %s for 32 kB, %s for 256 kB", hint, part, all)
		}
	}
}

// BenchmarkHTML masks a page of a task list, whose task ids hold the beginning of a token's form and which says how to call the API.
func BenchmarkHTML(b *testing.B) {
	m := builtIn(b)
	page := []byte(`<code>curl -H "Authorization: Bearer $FLEETGLASS_TOKEN"</code>` +
		strings.Repeat(`<a class="task" href="/tasks/task-4711">task-4711</a><p>a thought for https://example.org</p>`, 1200))
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		m.HTML(page)
	}
}

// BenchmarkPlainText masks a long text, and JSON whose one long text is cut off.
func BenchmarkPlainText(b *testing.B) {
	m := builtIn(b)
	for name, text := range map[string]string{
		"log": strings.Repeat("21:04:11 level=info msg=\"frame done\" url=https://example.org/a:b n: 12\n", 10_000),
		"cut": `{"payload":{"title":"A film","frames":"` + strings.Repeat("frame ", 100_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				m.Body([]byte(text))
			}
		})
	}
}
