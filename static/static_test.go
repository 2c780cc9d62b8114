package static

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
)

func assets(t *testing.T) *Assets {
	t.Helper()
	a, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAssetsAreKeptForEverUnderTheirHash(t *testing.T) {
	t.Parallel()
	a := assets(t)
	for name, want := range map[string]string{"fleetglass.css": "text/css; charset=utf-8", "js/app.js": "text/javascript; charset=utf-8", "icons.svg": "image/svg+xml",
		"vendor/idiomorph-0.8.0.min.js": "text/javascript; charset=utf-8"} {
		for _, encoding := range []string{"", "gzip"} {
			r := httptest.NewRequest("GET", a.URL(name), nil)
			r.Header.Set("Accept-Encoding", encoding)
			w := httptest.NewRecorder()
			a.Handler().ServeHTTP(w, r)
			if w.Code != 200 || w.Header().Get("Content-Type") != want || w.Header().Get("Content-Encoding") != encoding {
				t.Errorf("%s %q: %d, %v", name, encoding, w.Code, w.Header())
			}
			if got := w.Header().Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
				t.Errorf("%s: kept %q", name, got)
			}
		}
	}
	if b := assets(t); b.URL("x") != a.URL("x") {
		t.Errorf("addresses change from start to start: %s, %s", a.URL("x"), b.URL("x"))
	}
}

// Comments are a tenth of what a first view fetches. Lines keep their numbers.
func TestCommentsAreNotServed(t *testing.T) {
	t.Parallel()
	a := assets(t)
	source, err := os.ReadFile("js/keys.js")
	if err != nil {
		t.Fatal(err)
	}
	script, style := string(a.files["js/keys.js"].plain), string(a.files[stylesheet].plain)
	for i, line := range strings.Split(string(source), "\n") {
		got := strings.Split(script, "\n")[i]
		if comment := strings.HasPrefix(line, "//") || strings.HasPrefix(line, "/**"); comment && got != "" || !comment && got != line {
			t.Errorf("line %d is served as %q, want it from %q", i+1, got, line)
		}
	}
	if strings.Contains(style, "/*") || !strings.Contains(style, ".topbar {") {
		t.Error("the stylesheet has comments, or lacks its rules")
	}
}

func TestAnOlderAddressStillWorksButIsNotKept(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{"/static/000000000000/fleetglass.css": 200, "/static/000000000000/nothing.css": 404, "/static/css/1-reset.css": 404, "/static/": 404, "/static/x/../static.go": 404} {
		w := httptest.NewRecorder()
		assets(t).Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != want || strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: got %d, %v", path, w.Code, w.Header())
		}
	}
}

func TestVendoredScriptsAreUnchanged(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("vendor/README.md")
	if err != nil {
		t.Fatal(err)
	}
	sums := regexp.MustCompile("`([a-z0-9.-]+\\.js)`.*`([0-9a-f]{64})`").FindAllStringSubmatch(string(text), -1)
	if len(sums) == 0 {
		t.Fatal("no checksum is noted")
	}
	for _, s := range sums {
		body, err := os.ReadFile("vendor/" + s[1])
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != s[2] {
			t.Errorf("%s differs from its checksum", s[1])
		}
	}
}

func TestEveryIconThatIsUsedExists(t *testing.T) {
	t.Parallel()
	sprite, err := files.ReadFile("icons.svg")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir("../views")
	if err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`(?:Icon\(|look\{|sprite\(ctx, )"([a-z-]+)"`)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), "_test.go") || strings.HasSuffix(e.Name(), "_templ.go") {
			continue
		}
		source, err := os.ReadFile("../views/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range used.FindAllStringSubmatch(string(source), -1) {
			if !strings.Contains(string(sprite), `id="`+m[1]+`"`) {
				t.Errorf("%s uses icon %q, which the sprite does not have", e.Name(), m[1])
			}
		}
	}
}
