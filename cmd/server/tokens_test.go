package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"fleetglass/access"
	"fleetglass/internal/testkit"
)

// endsWithin is how soon what a token allowed must end after the token (SPEC 9).
const endsWithin = 5 * time.Second

// rewrite puts other tokens into the file.
func rewrite(t *testing.T, name string, entries ...access.Token) {
	t.Helper()
	text, err := access.Marshal(entries...)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func with(token string) http.Header {
	return http.Header{"Authorization": {"Bearer " + token}}
}

// open opens a stream and returns a channel that is closed when it ends.
func (r *running) open(path, token string) <-chan struct{} {
	r.t.Helper()
	return r.openWith(path, with(token))
}

// openWith does the same with other headers.
func (r *running) openWith(path string, header http.Header) <-chan struct{} {
	r.t.Helper()
	response := r.request(http.MethodGet, path, header, nil)
	lines := bufio.NewScanner(response.Body)
	if response.StatusCode != http.StatusOK || !lines.Scan() {
		r.t.Fatalf("%s: %s, %v", path, response.Status, lines.Err())
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines.Scan() {
		}
	}()
	return ended
}

var streamPaths = []string{"/live", "/api/v1/stream"}

func TestATokenThatIsRemovedEndsWithItsStreams(t *testing.T) {
	t.Parallel()
	removed, removedEntry := access.NewToken("removed", []access.Scope{access.Read}, time.Time{})
	stays, staysEntry := access.NewToken("stays", []access.Scope{access.Read}, time.Time{})
	added, addedEntry := access.NewToken("added", []access.Scope{access.Read}, time.Time{})
	file := writeTokens(t, removedEntry, staysEntry)
	r := start(t, settings(t, "--auth-tokens-file", file))
	var end, goOn []<-chan struct{}
	for _, path := range streamPaths {
		end, goOn = append(end, r.open(path, removed)), append(goOn, r.open(path, stays))
	}
	rewrite(t, file, staysEntry, addedEntry)
	deadline := time.After(endsWithin)
	for i, ended := range end {
		select {
		case <-ended:
		case <-deadline:
			t.Fatalf("%s goes on after %s", streamPaths[i], endsWithin)
		}
	}
	for token, want := range map[string]int{removed: 401, stays: 200, added: 200} {
		if got := r.request(http.MethodGet, "/api/v1/tasks", with(token), nil); got.StatusCode != want {
			t.Errorf("a token of the file before or after: %s, want %d", got.Status, want)
		}
	}
	for i, ended := range goOn {
		select {
		case <-ended:
			t.Errorf("%s of another token ended too", streamPaths[i])
		default:
		}
	}
}

func TestATokenThatExpiresEndsWithItsStreams(t *testing.T) {
	t.Parallel()
	_, staysEntry := access.NewToken("stays", []access.Scope{access.Read}, time.Time{})
	file := writeTokens(t, staysEntry)
	r := start(t, settings(t, "--auth-tokens-file", file))
	expires := time.Now().Add(4 * time.Second)
	token, entry := access.NewToken("short", []access.Scope{access.Read}, expires)
	rewrite(t, file, staysEntry, entry)
	r.reload()
	testkit.Eventually(t, endsWithin, func() error {
		if got := r.request(http.MethodGet, "/api/v1/tasks", with(token), nil); got.StatusCode != 200 {
			return fmt.Errorf("the new token: %s", got.Status)
		}
		return nil
	})
	var streams []<-chan struct{}
	for _, path := range streamPaths {
		streams = append(streams, r.open(path, token))
	}
	for i, ended := range streams {
		select {
		case <-ended:
		case <-time.After(time.Until(expires) + endsWithin):
			t.Errorf("%s goes on %s after its token expired", streamPaths[i], endsWithin)
		}
	}
	if early := time.Until(expires); early > 0 {
		t.Errorf("the streams ended %s before their token", early)
	}
	if got := r.request(http.MethodGet, "/api/v1/tasks", with(token), nil); got.StatusCode != 401 {
		t.Errorf("after it expired: %s", got.Status)
	}
}

func TestAFileThatBecomesInvalidKeepsTheLastGoodTokens(t *testing.T) {
	t.Parallel()
	token, entry := access.NewToken("ada", []access.Scope{access.Read}, time.Time{})
	file := writeTokens(t, entry)
	r := start(t, settings(t, "--auth-tokens-file", file))
	stream := r.open("/live", token)
	for _, spoil := range []func() error{
		func() error { return os.WriteFile(file, []byte("tokens: [{name: ada"), 0o600) },
		func() error { return os.WriteFile(file, nil, 0o600) },
		func() error { return os.Remove(file) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		r.tokensPart(token, "behind", "stay valid")
		rewrite(t, file, entry)
		r.tokensPart(token, "ok", "")
	}
	select {
	case <-stream:
		t.Error("the stream of a valid token ended")
	default:
	}
	if err := os.WriteFile(file, []byte("tokens: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, endsWithin, func() error {
		if got := r.request(http.MethodGet, "/api/v1/tasks", with(token), nil); got.StatusCode != 401 {
			return fmt.Errorf("the last token is gone, and the answer is %s", got.Status)
		}
		return nil
	})
}

// tokensPart waits until readiness says of the tokens what it should.
func (r *running) tokensPart(token, state, detail string) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		for _, p := range r.follow.Health() {
			if string(p.State) == state && strings.Contains(p.Detail, detail) {
				return r.readyzSays(token, state)
			}
		}
		return fmt.Errorf("tokens are %v, want %s", r.follow.Health(), state)
	})
}

func (r *running) readyzSays(token, state string) error {
	var text strings.Builder
	response := r.request(http.MethodGet, "/readyz", with(token), nil)
	if _, err := bufio.NewReader(response.Body).WriteTo(&text); err != nil {
		return err
	}
	if want := fmt.Sprintf(`"name":"tokens","kind":"access","state":"%s"`, state); !strings.Contains(text.String(), want) {
		return fmt.Errorf("/readyz lacks %s: %s", want, &text)
	}
	return nil
}

func TestATokenThatCanBeGuessedIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	for _, token := range []string{strings.Repeat(" ", 40), strings.Repeat("a", 40), "changeme", strings.Repeat("secret", 6)} {
		var out strings.Builder
		if code := run(t.Context(), nil, vars("FLEETGLASS_TOKEN", token), &out, &out); code != 2 {
			t.Errorf("%q: exit code %d, want 2", token, code)
		}
		if !strings.Contains(out.String(), "--token (FLEETGLASS_TOKEN): can be guessed") || !strings.Contains(out.String(), "fleetglass token create makes a good one") {
			t.Errorf("%q: the message is %s", token, &out)
		}
		if strings.TrimSpace(token) != "" && strings.Contains(out.String(), token) {
			t.Errorf("%q: the message shows the token", token)
		}
	}
}

func TestSIGHUPReadsTheTokensAgainAndEndsNothing(t *testing.T) {
	t.Parallel()
	_, entry := access.NewToken("ada", []access.Scope{access.Read}, time.Time{})
	file := writeTokens(t, entry)
	for name, args := range map[string][]string{"with a file": {"--auth-tokens-file", file}, "without": nil} {
		cmd, out := program(t, nil, append(args, "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data-dir", filepath.Join(t.TempDir(), "data"))...)
		says := func(want string) {
			t.Helper()
			testkit.Eventually(t, patience, func() error {
				if strings.Contains(out.String(), want) {
					return nil
				}
				return errLog(out.String())
			})
		}
		says("msg=serving")
		want := "nothing to read again"
		if args != nil {
			want = "other tokens are valid now"
			rewrite(t, file, entry, access.Token{Name: "eve", SHA256: access.Hash("x"), Role: access.Viewer})
		}
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		says(want)
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
