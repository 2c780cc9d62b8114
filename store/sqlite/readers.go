package sqlite

import (
	"context"
	"errors"
	"sync"

	"fleetglass/lifecycle"

	"zombiezen.com/go/sqlite"
)

// readers are the connections that read, opened when they are first needed. The library's pool has a goroutine watch the context of every
// read, which takes a tenth of the time of a short one; here only reads that may take long are watched.
type readers struct {
	open   func() (*sqlite.Conn, error)
	slots  chan struct{} // Holds one for each connection in use.
	life   context.Context
	finish context.CancelFunc

	mu   sync.Mutex
	idle []*sqlite.Conn
}

func newReaders(most int, open func() (*sqlite.Conn, error)) *readers {
	r := &readers{open: open, slots: make(chan struct{}, most)}
	r.life, r.finish = context.WithCancel(context.Background())
	return r
}

// take returns a connection for one read, which put takes back. It waits while all are in use, until ctx is done.
func (r *readers) take(ctx context.Context) (*sqlite.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-r.life.Done():
		return nil, lifecycle.ErrClosed
	case r.slots <- struct{}{}:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.idle) - 1; last >= 0 {
		conn := r.idle[last]
		r.idle = r.idle[:last]
		return conn, nil
	}
	conn, err := r.open()
	if err != nil {
		<-r.slots
	}
	return conn, err
}

func (r *readers) put(conn *sqlite.Conn) {
	r.mu.Lock()
	r.idle = append(r.idle, conn)
	r.mu.Unlock()
	<-r.slots
}

// watch interrupts what the connection does when ctx is done or the readers are closed, until rest is called.
func (r *readers) watch(ctx context.Context, conn *sqlite.Conn) (rest func()) {
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(r.life, cancel)
	conn.SetInterrupt(ctx.Done())
	return func() {
		conn.SetInterrupt(nil)
		forget()
		cancel()
	}
}

// close ends the reads that are watched, waits for the others, and closes all connections.
func (r *readers) close() error {
	r.finish()
	for range cap(r.slots) {
		r.slots <- struct{}{}
	}
	var err error
	for _, conn := range r.idle {
		err = errors.Join(err, conn.Close())
	}
	return err
}
