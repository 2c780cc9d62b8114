package embednats

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"fleetglass/internal/dirlock"
)

const (
	startTimeout = 15 * time.Second
	closeTimeout = 15 * time.Second
)

// Server is a running nats-server in this process.
type Server struct {
	srv      *server.Server
	log      *slog.Logger
	lock     io.Closer
	password string
	wanted   string
	closing  sync.Once
	closeErr error
}

// Start runs a server until [Server.Close]. It continues with the streams that an earlier server left in the directory. It errors when
// the configuration is invalid, another server uses the directory, no port near the wanted one is free, or the server is not
// ready within 15 seconds.
func Start(cfg Config) (*Server, error) {
	cfg, err := cfg.validate()
	if err != nil {
		return nil, err
	}
	lock, err := lockDir(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("embedded nats: %w", err)
	}
	s := &Server{log: cfg.Logger, lock: lock, password: cfg.Password, wanted: cfg.Listen}
	if err := s.run(cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("embedded nats: %w", err), s.Close())
	}
	if moved, from := s.Moved(); moved {
		s.log.Warn("nats port taken, listening on another", "wanted", from, "url", s.URL())
	}
	return s, nil
}

func (s *Server) run(cfg Config) error {
	opts, err := cfg.options()
	if err != nil {
		return err
	}
	if cfg.Listen != "" {
		if err := listenOn(opts, cfg.Listen); err != nil {
			return err
		}
	}
	srv, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	s.srv = srv
	log := &logger{log: cfg.Logger}
	srv.SetLoggerV2(log, false, false, false)
	srv.Start()
	if !srv.ReadyForConnections(startTimeout) || !srv.JetStreamEnabled() {
		return fmt.Errorf("not ready after %s: %s", startTimeout, log.lastFatal())
	}
	return nil
}

// Connect opens a connection through memory. The caller closes it. It errors when the server is closed.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	opts = append([]nats.Option{nats.InProcessServer(s.srv), nats.Name("fleetglass")}, opts...)
	if s.password != "" {
		opts = append(opts, nats.UserInfo(user, s.password))
	}
	nc, err := nats.Connect("", opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to embedded nats: %w", err)
	}
	return nc, nil
}

// URL is where clients outside the process connect, such as nats://127.0.0.1:4222; empty when the server does not listen.
func (s *Server) URL() string {
	addr, ok := s.srv.Addr().(*net.TCPAddr)
	if !ok || s.wanted == "" {
		return ""
	}
	return "nats://" + addr.String()
}

// Moved reports whether the wanted port was taken, so that the server listens on another one, and the address that was wanted.
func (s *Server) Moved() (moved bool, wanted string) {
	addr, ok := s.srv.Addr().(*net.TCPAddr)
	if !ok || s.wanted == "" {
		return false, s.wanted
	}
	_, port, _ := net.SplitHostPort(s.wanted)
	return port != "0" && port != fmt.Sprint(addr.Port), s.wanted
}

// Sick says what keeps the server from storing messages; empty when nothing does. A stream that could not be written, because the disk
// was full, refuses messages until the server is started again, also when there is room by then. It is empty as well where the server gets no time to look at its storage.
func (s *Server) Sick() string {
	for range healthTries {
		said := s.srv.Healthz(&server.HealthzOptions{Details: true}).Errors
		switch {
		case len(said) == 0:
			return ""
		case said[0].Type != server.HealthzErrorConn:
			return said[0].Error
		}
	}
	return ""
}

// healthTries is how often the server is asked. It allows itself a millisecond to see that it listens, as it has since its start: on a busy machine that passes before it
// looks, and it says no more.
const healthTries = 5

// Close stops the server, waiting at most 15 seconds for it to write its state. It is idempotent.
func (s *Server) Close() error {
	s.closing.Do(func() {
		s.closeErr = s.shutdown()
		if err := s.lock.Close(); err != nil && s.closeErr == nil {
			s.closeErr = fmt.Errorf("close embedded nats: %w", err)
		}
	})
	return s.closeErr
}

func (s *Server) shutdown() error {
	if s.srv == nil {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.srv.Shutdown()
		s.srv.WaitForShutdown()
	}()
	select {
	case <-done:
		return nil
	case <-time.After(closeTimeout):
		return fmt.Errorf("close embedded nats: still running after %s", closeTimeout)
	}
}

// lockDir creates the directory and takes its lock.
func lockDir(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // A directory; it may have been made more open before.
		return nil, err
	}
	return dirlock.Take(dir, "nats.lock")
}
