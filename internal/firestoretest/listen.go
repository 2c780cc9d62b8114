package firestoretest

import (
	"maps"
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// listener is one open Listen call.
type listener struct {
	server   *Server
	stream   pb.Firestore_ListenServer
	switches *switches
	targets  map[int32]*target
}

// Listen implements the service.
func (s *Server) Listen(stream pb.Firestore_ListenServer) error {
	l := &listener{server: s, stream: stream, switches: s.faults.join(), targets: map[int32]*target{}}
	defer s.faults.leave(l.switches)
	return l.run(l.receive())
}

// received is a request, or the end of them.
type received struct {
	request *pb.ListenRequest
	err     error
}

// receive hands requests over until the call ends.
func (l *listener) receive() <-chan received {
	out := make(chan received)
	go func() {
		for {
			request, err := l.stream.Recv()
			select {
			case out <- received{request, err}:
			case <-l.stream.Context().Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return out
}

func (l *listener) run(requests <-chan received) error {
	for {
		news, changed := l.news()
		for _, m := range news {
			if err := l.stream.Send(m); err != nil {
				return err
			}
		}
		select {
		case <-l.stream.Context().Done():
			return status.FromContextError(l.stream.Context().Err()).Err()
		case code := <-l.switches.cut:
			return status.Error(code, "the listener is ended on demand")
		case <-l.switches.quiet:
			<-l.stream.Context().Done()
			return status.FromContextError(l.stream.Context().Err()).Err()
		case <-changed:
		case r := <-requests:
			if r.err != nil {
				return nil // The client closed its side.
			}
			if err := l.handle(r.request); err != nil {
				return err
			}
		}
	}
}

// news is what the client does not know yet, and a channel that is closed when there is more.
func (l *listener) news() ([]*pb.ListenResponse, <-chan struct{}) {
	s := l.server
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*pb.ListenResponse
	at := timestamppb.New(s.history.readTime(s.now()))
	for _, id := range slices.Sorted(maps.Keys(l.targets)) {
		if t := l.targets[id]; t.history == s.history { // Else the server was erased, and this call is about to end.
			messages, reads := t.update(at)
			out, s.reads = append(out, messages...), s.reads+reads
		}
	}
	return out, s.changed
}

func (l *listener) handle(r *pb.ListenRequest) error {
	if id := r.GetRemoveTarget(); id != 0 {
		delete(l.targets, id)
		return l.stream.Send(change(pb.TargetChange_REMOVE, []int32{id}, nil, nil))
	}
	wanted := r.GetAddTarget()
	t := &target{id: wanted.GetTargetId(), names: wanted.GetDocuments().GetDocuments()}
	if text := wanted.GetQuery().GetStructuredQuery(); text != nil {
		q := newQuery(wanted.GetQuery().GetParent(), text)
		if err := l.server.indexes.check(q); err != nil {
			return err
		}
		t.query = &q
	}
	if t.query == nil && len(t.names) == 0 {
		return status.Error(codes.InvalidArgument, "a target without query and without documents")
	}
	if err := l.stream.Send(change(pb.TargetChange_ADD, []int32{t.id}, nil, nil)); err != nil {
		return err
	}
	l.server.mu.Lock()
	defer l.server.mu.Unlock()
	t.resume(l.server.history, wanted)
	l.targets[t.id] = t
	return nil
}
