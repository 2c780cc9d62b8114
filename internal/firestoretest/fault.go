package firestoretest

import (
	"context"
	"path"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Method names a method of the server.
type Method string

// The methods that faults can be set for.
const (
	Listen            Method = "Listen"
	RunQuery          Method = "RunQuery"
	BatchGetDocuments Method = "BatchGetDocuments"
	Commit            Method = "Commit"
	BeginTransaction  Method = "BeginTransaction"
)

const unavailable = codes.Unavailable

// faults is what goes wrong on demand. The zero value lets everything through.
type faults struct {
	mu        sync.Mutex
	errors    map[Method]*failure
	losses    map[Method]*failure
	hanging   map[Method]chan struct{} // Closed when the method answers again.
	listeners map[*switches]bool       // The open listeners.
}

// failure is an error that calls of a method end with.
type failure struct {
	code codes.Code
	left int // How many calls still fail; negative for all.
}

// next is the error of the next call; nil where nothing fails.
func (x *failure) next(m Method) error {
	if x == nil || x.left == 0 {
		return nil
	}
	if x.left > 0 {
		x.left--
	}
	return status.Errorf(x.code, "%s fails on demand", m)
}

// switches is how one open listener is interfered with.
type switches struct {
	cut   chan codes.Code // Ends it with an error.
	quiet chan struct{}   // Closed: it stays open and says nothing any more.
}

// Fail lets the next calls of a method end with an error; times below zero means all until [Server.Heal]. An iterator of the client may
// die of any error of Listen, with iterator.Done, when it comes before the client has said what it listens to.
func (s *Server) Fail(m Method, code codes.Code, times int) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if s.faults.errors == nil {
		s.faults.errors = map[Method]*failure{}
	}
	s.faults.errors[m] = &failure{code, times}
}

// Lose lets the next calls of a method with a single answer, such as Commit, take effect and end with an error all the same, as when the answer is lost on its way; times below
// zero means all until [Server.Heal].
func (s *Server) Lose(m Method, code codes.Code, times int) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if s.faults.losses == nil {
		s.faults.losses = map[Method]*failure{}
	}
	s.faults.losses[m] = &failure{code, times}
}

// Hang lets calls of a method wait, without an error, until [Server.Heal] or until the client gives up.
func (s *Server) Hang(m Method) {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	if s.faults.hanging == nil {
		s.faults.hanging = map[Method]chan struct{}{}
	}
	if s.faults.hanging[m] == nil {
		s.faults.hanging[m] = make(chan struct{})
	}
}

// Heal ends what [Server.Fail], [Server.Lose] and [Server.Hang] began.
func (s *Server) Heal() {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	for _, wait := range s.faults.hanging {
		close(wait)
	}
	s.faults.errors, s.faults.losses, s.faults.hanging = nil, nil, nil
}

// BreakListeners ends every open listener with an error, and says how many there were.
func (s *Server) BreakListeners(code codes.Code) int {
	return s.faults.each(func(x *switches) {
		select {
		case x.cut <- code:
		default: // It is being ended already.
		}
	})
}

// StallListeners lets every open listener stay open and say nothing any more, and says how many there were. Later ones work.
func (s *Server) StallListeners() int {
	n := s.faults.each(func(x *switches) { close(x.quiet) })
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.listeners = nil
	return n
}

// Listeners is the number of open listeners that are not stalled.
func (s *Server) Listeners() int { return s.faults.each(func(*switches) {}) }

func (f *faults) each(do func(*switches)) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for x := range f.listeners {
		do(x)
	}
	return len(f.listeners)
}

func (f *faults) join() *switches {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.listeners == nil {
		f.listeners = map[*switches]bool{}
	}
	x := &switches{cut: make(chan codes.Code, 1), quiet: make(chan struct{})}
	f.listeners[x] = true
	return x
}

func (f *faults) leave(x *switches) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, x)
}

// check errors, or waits, as the method was told to.
func (f *faults) check(ctx context.Context, fullMethod string) error {
	m := Method(path.Base(fullMethod))
	f.mu.Lock()
	wait := f.hanging[m]
	err := f.errors[m].next(m)
	f.mu.Unlock()
	if err != nil {
		return err
	}
	if wait == nil {
		return nil
	}
	select {
	case <-wait:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func (f *faults) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	if err := f.check(ctx, info.FullMethod); err != nil {
		return nil, err
	}
	answer, err := handle(ctx, req)
	if lost := f.lost(info.FullMethod); err == nil && lost != nil {
		return nil, lost
	}
	return answer, err
}

// lost is the error that a call ends with whose answer is lost; nil where it is not.
func (f *faults) lost(fullMethod string) error {
	m := Method(path.Base(fullMethod))
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.losses[m].next(m)
}

func (f *faults) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if err := f.check(stream.Context(), info.FullMethod); err != nil {
		return err
	}
	return handle(server, stream)
}
