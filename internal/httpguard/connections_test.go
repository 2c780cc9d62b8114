package httpguard

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// asking is a client's connection that stays open.
type asking struct {
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, server *httptest.Server) asking {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return asking{conn, bufio.NewReader(conn)}
}

// ask sends a request and reads the beginning of the answer.
func (a asking) ask(path string) error {
	if _, err := fmt.Fprintf(a.Conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		return err
	}
	response, err := http.ReadResponse(a.lines, nil)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("got %s", response.Status)
	}
	return nil
}

func TestTheConnectionThatAsksForNothingGoesFirst(t *testing.T) {
	t.Parallel()
	busy := make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			w.(http.Flusher).Flush()
			<-busy
		}
	}))
	var idle atomic.Int64 // How often a connection has become idle: the server notes that a moment after its answer.
	track := NewConnections(3).Track
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if track(c, state); state == http.StateIdle {
			idle.Add(1)
		}
	}
	becameIdle := func(times int64) {
		testkit.Eventually(t, 20*time.Second, func() error {
			if n := idle.Load(); n != times {
				return fmt.Errorf("connections became idle %d times, want %d", n, times)
			}
			return nil
		})
	}
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(busy) })

	stream, first, second := dial(t, server), dial(t, server), dial(t, server)
	for name, err := range map[string]error{"stream": stream.ask("/stream"), "first": first.ask("/"), "second": second.ask("/")} {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	becameIdle(2)
	if err := first.ask("/"); err != nil { // Now the second has been idle for longer.
		t.Fatal(err)
	}
	becameIdle(3)
	third := dial(t, server)
	if err := third.ask("/stream"); err != nil {
		t.Fatalf("one connection too many: %v", err)
	}
	if err := second.ask("/"); err == nil {
		t.Error("the connection that was idle for the longest is still there")
	}
	if err := first.ask("/stream"); err != nil {
		t.Fatalf("the connection that asked last is gone: %v", err)
	}
	if err := dial(t, server).ask("/"); err == nil {
		t.Error("all are busy, and one more was let in")
	}
}
