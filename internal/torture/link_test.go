//go:build linux

package torture

import (
	"io"
	"net"
	"sync"
	"testing"
)

// link is the way from one node of a cluster to another: all routes that the first opens to the second go through it. While it is cut nothing
// passes and nobody is told, as on a network that drops packets; what was sent meanwhile arrives when it is mended, or is lost with its connection.
type link struct {
	listener net.Listener
	to       string

	mu    sync.Mutex
	cut   chan struct{} // Not nil while the link is cut; closed when it is mended.
	open  map[net.Conn]bool
	ended bool
	work  sync.WaitGroup
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, to: to, open: map[net.Conn]bool{}}
	l.work.Go(l.accept)
	t.Cleanup(l.close)
	return l
}

func (l *link) url() string { return "nats-route://" + l.listener.Addr().String() }

// sever cuts the link, or mends it.
func (l *link) sever(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case cut && l.cut == nil:
		l.cut = make(chan struct{})
	case !cut && l.cut != nil:
		close(l.cut)
		l.cut = nil
	}
}

// pass waits until the link is whole.
func (l *link) pass() {
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	if cut != nil {
		<-cut
	}
}

func (l *link) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.work.Go(func() { l.carry(from) })
	}
}

// carry moves what one connection says in both directions, until either end closes it.
func (l *link) carry(from net.Conn) {
	if !l.keep(from) {
		return
	}
	defer l.drop(from)
	l.pass()
	to, err := net.Dial("tcp", l.to)
	if err != nil || !l.keep(to) {
		return
	}
	defer l.drop(to)
	var back sync.WaitGroup
	back.Go(func() { l.copy(from, to) })
	l.copy(to, from)
	back.Wait()
}

// copy moves bytes in one direction. Its end closes both connections, so that the other direction ends too.
func (l *link) copy(to, from net.Conn) {
	defer l.drop(to)
	defer l.drop(from)
	chunk := make([]byte, 32<<10)
	for {
		n, err := from.Read(chunk)
		l.pass()
		if _, failed := to.Write(chunk[:n]); failed != nil || err != nil {
			return
		}
	}
}

// keep remembers a connection, to be closed with the link.
func (l *link) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		_ = c.Close()
		return false
	}
	l.open[c] = true
	return true
}

func (l *link) drop(c io.Closer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = c.Close()
	if c, ok := c.(net.Conn); ok {
		delete(l.open, c)
	}
}

func (l *link) close() {
	_ = l.listener.Close()
	l.sever(false)
	l.mu.Lock()
	l.ended = true
	for c := range l.open {
		_ = c.Close()
	}
	l.mu.Unlock()
	l.work.Wait()
}
