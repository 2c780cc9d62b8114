package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestProfilesAreServedOnALoopbackPortOfTheirOwn(t *testing.T) {
	t.Parallel()
	app := start(t, settings(t, "--admin-listen", "127.0.0.1:0"))
	for _, tc := range []struct {
		address, host string
		want          int
	}{
		{app.admin, "", http.StatusOK},
		{app.admin, "evil.example", http.StatusForbidden}, // A name that was made to lead here.
		{app.Addr(), "", http.StatusNotFound},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+tc.address+"/debug/pprof/goroutine?debug=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = tc.host
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != tc.want || (tc.want == http.StatusOK) != strings.Contains(string(body), "goroutine profile") {
			t.Errorf("%s as %q: %s, want %d", tc.address, tc.host, response.Status, tc.want)
		}
	}
}

func TestProfilesAreRefusedBeyondLoopback(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"0.0.0.0:6060", ":6060", "10.0.0.1:6060", "example.org:6060", "nonsense"} {
		_, err := load([]string{"--admin-listen", address}, vars(), io.Discard)
		if err == nil || !strings.Contains(err.Error(), "admin-listen") {
			t.Errorf("%s: error %v", address, err)
		}
	}
}
