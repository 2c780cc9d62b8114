package firestoretest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Project is the project of the clients that [Server.Client] makes.
const Project = "test-project"

// Config says how a server differs from the usual one.
type Config struct {
	Now     func() time.Time // Optional; default time.Now. The clock of update and read times; it may be off, but never stand still.
	Indexes []byte           // Optional; default the project's own firestore.indexes.json.
}

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	pb.UnimplementedFirestoreServer

	now     func() time.Time
	indexes indexes
	addr    string
	faults  faults

	mu           sync.Mutex
	history      *history
	transactions map[string]*transaction
	issued       uint64        // Transactions begun.
	changed      chan struct{} // Closed and replaced by every commit.
	reads        int           // Documents handed out, as they are billed.
}

// Start starts a server on a free port of the loopback interface. It stops when the test ends.
func Start(t testing.TB, cfg Config) *Server {
	t.Helper()
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Indexes == nil {
		cfg.Indexes = projectIndexes(t)
	}
	declared, err := parseIndexes(cfg.Indexes)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		now: cfg.Now, indexes: declared, addr: listener.Addr().String(), history: newHistory(cfg.Now()),
		transactions: map[string]*transaction{}, changed: make(chan struct{}),
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(s.faults.unary), grpc.StreamInterceptor(s.faults.stream))
	pb.RegisterFirestoreServer(server, s)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Errorf("serve firestore: %v", err)
		}
	})
	return s
}

// Addr is the host and port, as in FIRESTORE_EMULATOR_HOST.
func (s *Server) Addr() string { return s.addr }

// Client returns a client of the server. It is closed when the test ends.
func (s *Server) Client(t testing.TB) *firestore.Client {
	t.Helper()
	return Connect(t, s.addr, Project)
}

// Connect returns a client of a server or an emulator at an address. It is closed when the test ends, unless the test closed it before.
func Connect(t testing.TB, addr, project string) *firestore.Client {
	t.Helper()
	c, err := firestore.NewClient(context.WithoutCancel(t.Context()), project, option.WithEndpoint(addr), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())), option.WithGRPCDialOption(grpc.WithPerRPCCredentials(owner{})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil && status.Code(err) != codes.Canceled {
			t.Errorf("close firestore client: %v", err)
		}
	})
	return c
}

// Reads is the number of documents handed out so far, as they are billed: a query without a result counts as one.
func (s *Server) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// Erase does what a restart of an emulator does: everything is gone, open calls end, and resume tokens mean nothing any more.
func (s *Server) Erase() {
	s.mu.Lock()
	s.history = newHistory(s.history.commitTime(s.now()))
	s.transactions = map[string]*transaction{}
	s.mu.Unlock()
	s.BreakListeners(unavailable)
}

// owner is how an emulator is asked for what only an administrator may do.
type owner struct{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (owner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (owner) RequireTransportSecurity() bool { return false }
