// Package sqlite keeps the lifecycle store in one SQLite file: one writer that merges waiting batches into one transaction, and a
// pool of readers. It holds no rule about states; those are in lifecycle.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"fleetglass/decision"
	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
	"fleetglass/reconcile"

	"zombiezen.com/go/sqlite"
)

// Config says where the store is.
type Config struct {
	Path       string           // Required. The database file; it is created where it is missing, its directory is not.
	Readers    int              // Optional; default twice the processors, at least 4. Reads that may run at once.
	ScanLimit  int              // Optional; default 500,000. Rows that one page of a list may look through; see [Store.ListTasks].
	Now        func() time.Time // Optional; default time.Now. Says what the last week is.
	TaskTraces time.Duration    // Optional. How long after a task has ended it is due in the queue of traces; zero notes none.
	Trace      func()           // Optional. Called before each statement of the writer and after each of its transactions.

	// Optional. Called at the begin of each call but Append, with its name; what it returns is called at its end.
	Calls func(ctx context.Context, what string) (end func(error))
}

// Store is every domain's store in an SQLite file. It is safe for concurrent use.
type Store struct {
	cfg     Config
	readers *readers
	queue   chan *job
	stop    chan struct{}  // Closed by Close: no job is taken in any more.
	running sync.WaitGroup // The writer and the checkpoints.
	closing sync.Once
	closed  atomic.Bool
	shapes  shapes
}

var (
	_ lifecycle.Store         = (*Store)(nil)
	_ lifecycle.TraceQueue    = (*Store)(nil)
	_ reconcile.RunStore      = (*Store)(nil)
	_ reconcile.BalanceReader = (*Store)(nil)
	_ decision.Store          = (*Store)(nil)
	_ dlqtriage.EntryStore    = (*Store)(nil)
)

// Open opens the database, creates or migrates its schema, and starts the writer and its checkpoints, which Close stops. It errors with
// migrate.ErrNewer when a newer program wrote the file, and with lifecycle.ErrNewer when one judged it.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	conn, err := openWriter(ctx, cfg.Path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", cfg.Path, err)
	}
	beside, err := openConn(cfg.Path, "")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", cfg.Path, err), conn.Close())
	}
	w := newWriter(conn, newCheckpoints(beside), cfg.Trace)
	if cfg.TaskTraces > 0 {
		w.traceDue = func() lifecycle.Micros { return lifecycle.MicrosOf(cfg.Now()).Add(cfg.TaskTraces) }
	}
	if err := w.beginUpgrade(); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", cfg.Path, err), conn.Close(), beside.Close())
	}
	s := &Store{cfg: cfg, queue: make(chan *job), stop: make(chan struct{})}
	s.readers = newReaders(cfg.Readers, func() (*sqlite.Conn, error) { return openConn(cfg.Path, readerPragmas) })
	s.running.Go(func() { w.run(s.queue, s.stop) })
	s.running.Go(func() { w.checkpoints.run(s) })
	return s, nil
}

func (c Config) complete() (Config, error) {
	if c.Path == "" {
		return c, errors.New("sqlite: Config.Path is required")
	}
	if c.Readers <= 0 {
		c.Readers = max(4, 2*runtime.GOMAXPROCS(0))
	}
	if c.ScanLimit <= 0 {
		c.ScanLimit = 500_000
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// Close waits for the transaction at hand, refuses those that wait, and closes the file. It is idempotent.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		s.closed.Store(true)
		close(s.stop)
		s.running.Wait()
		err = s.readers.close()
	})
	return err
}

// Ping reports whether the store answers.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, "ping", func(conn *sqlite.Conn) error {
		return prepare(conn, `SELECT count(*) FROM watermarks`).exec()
	})
}

// Size implements [lifecycle.Keeper]. Free pages do not count.
func (s *Store) Size(ctx context.Context) (size int64, err error) {
	err = s.readShort(ctx, "read size", func(conn *sqlite.Conn) error {
		const pages = `SELECT (p.page_count - f.freelist_count) * s.page_size FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s`
		return prepare(conn, pages).each(func(r *statement) error { size = r.getInt(); return nil })
	})
	return size, err
}

// read runs f on a connection of its own, and interrupts it when ctx is done. What f reads is one state of the database.
func (s *Store) read(ctx context.Context, what string, f func(*sqlite.Conn) error) error {
	return s.readShort(ctx, what, func(conn *sqlite.Conn) error {
		defer s.readers.watch(ctx, conn)()
		return f(conn)
	})
}

// readShort is read for what ends soon by itself: it is not interrupted.
func (s *Store) readShort(ctx context.Context, what string, f func(*sqlite.Conn) error) error {
	if s.closed.Load() {
		return lifecycle.ErrClosed
	}
	end := s.begin(ctx, what)
	err := s.readOn(ctx, f)
	end(err)
	switch {
	case err == nil || errors.Is(err, lifecycle.ErrNotFound):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", what, ctx.Err())
	case s.closed.Load():
		return lifecycle.ErrClosed
	}
	return fmt.Errorf("%s: %w", what, err)
}

// begin tells whoever listens of a call, and returns what tells of its end.
func (s *Store) begin(ctx context.Context, what string) (end func(error)) {
	if s.cfg.Calls == nil {
		return func(error) {}
	}
	return s.cfg.Calls(ctx, what)
}

// readOn runs f in a transaction that reads. Its end comes even when f panics.
func (s *Store) readOn(ctx context.Context, f func(*sqlite.Conn) error) (err error) {
	conn, err := s.readers.take(ctx)
	if err != nil {
		return err
	}
	defer s.readers.put(conn)
	defer func() {
		if !conn.AutocommitEnabled() {
			err = errors.Join(err, prepare(conn, `ROLLBACK`).exec())
		}
	}()
	if err := prepare(conn, `BEGIN`).exec(); err != nil {
		return err
	}
	return f(conn)
}
