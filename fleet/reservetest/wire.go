package reservetest

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
)

// Wire is a connection to a store that can be made to lose every answer: what a client asks arrives and takes effect, and the client hears
// nothing. Its methods are safe for concurrent use.
type Wire struct {
	listener net.Listener
	target   string
	served   sync.WaitGroup

	mu    sync.Mutex
	heard int // Answers that are still heard; below zero for all.
	conns map[net.Conn]bool
}

// NewWire listens on a free port of the loopback interface and passes everything on to a target, a host and port. It is closed when the
// test ends.
func NewWire(t testing.TB, target string) *Wire {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &Wire{listener: listener, target: target, heard: -1, conns: map[net.Conn]bool{}}
	w.served.Go(w.serve)
	t.Cleanup(func() {
		_ = listener.Close()
		w.cut()
		w.served.Wait()
	})
	return w
}

// Addr is the host and port to connect to.
func (w *Wire) Addr() string { return w.listener.Addr().String() }

// Deafen lets every answer be lost after so many more pieces of answers.
func (w *Wire) Deafen(after int) { w.set(after) }

// Heal ends what [Wire.Deafen] began. Connections are cut, because what comes after lost answers makes no sense; clients connect again.
func (w *Wire) Heal() {
	w.set(-1)
	w.cut()
}

func (w *Wire) set(heard int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = heard
}

// hears counts a piece of an answer, and reports whether it is heard.
func (w *Wire) hears() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.heard > 0 {
		w.heard--
		return true
	}
	return w.heard < 0
}

func (w *Wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.conns {
		_ = c.Close()
	}
}

func (w *Wire) serve() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		w.served.Go(func() { w.pass(client) })
	}
}

// pass passes everything on until either side ends.
func (w *Wire) pass(client net.Conn) {
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", w.target)
	if err != nil {
		_ = client.Close()
		return
	}
	w.join(client, server)
	defer w.leave(client, server)
	var both sync.WaitGroup
	both.Go(func() { w.copy(server, client) })
	both.Go(func() { w.copy(hearing{w, client}, server) })
	both.Wait()
}

// copy closes both ends when one has ended.
func (w *Wire) copy(to io.WriteCloser, from io.ReadCloser) {
	_, _ = io.Copy(to, from) // A cut is no failure.
	_ = to.Close()
	_ = from.Close()
}

func (w *Wire) join(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		w.conns[c] = true
	}
}

func (w *Wire) leave(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		delete(w.conns, c)
	}
}

// hearing is the client's end: it loses what is written while the wire is deaf.
type hearing struct {
	w *Wire
	net.Conn
}

func (h hearing) Write(b []byte) (int, error) {
	if !h.w.hears() {
		return len(b), nil
	}
	return h.Conn.Write(b)
}
