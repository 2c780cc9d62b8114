package firestoretest

import (
	"context"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Commit implements the service.
func (s *Server) Commit(_ context.Context, r *pb.CommitRequest) (*pb.CommitResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := r.GetTransaction(); len(id) > 0 {
		tx, err := s.found(id)
		if err != nil {
			return nil, err
		}
		delete(s.transactions, string(id))
		switch {
		case tx.readOnly && len(r.GetWrites()) > 0:
			return nil, status.Error(codes.InvalidArgument, "a read-only transaction cannot write")
		case !tx.readOnly && tx.conflicts(s.history):
			return nil, status.Error(codes.Aborted, "too much contention on these documents")
		}
	}
	results, at, err := s.commit(r.GetWrites())
	if err != nil {
		return nil, err
	}
	return &pb.CommitResponse{WriteResults: results, CommitTime: at}, nil
}

// BatchWrite implements the service: every write succeeds or fails by itself.
func (s *Server) BatchWrite(_ context.Context, r *pb.BatchWriteRequest) (*pb.BatchWriteResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &pb.BatchWriteResponse{}
	for _, w := range r.GetWrites() {
		result, state := &pb.WriteResult{}, &rpcstatus.Status{}
		if done, _, err := s.commit([]*pb.Write{w}); err != nil {
			state = status.Convert(err).Proto()
		} else {
			result = done[0]
		}
		out.WriteResults, out.Status = append(out.WriteResults, result), append(out.Status, state)
	}
	return out, nil
}

// commit applies writes, all or none. The caller holds the lock.
func (s *Server) commit(writes []*pb.Write) ([]*pb.WriteResult, *timestamppb.Timestamp, error) {
	at := s.history.commitTime(s.now())
	w := writer{history: s.history, at: timestamppb.New(at), staged: map[string]*pb.Document{}}
	results := make([]*pb.WriteResult, 0, len(writes))
	for _, x := range writes {
		result, err := w.apply(x)
		if err != nil {
			return nil, nil, err
		}
		results = append(results, result)
	}
	if len(writes) > 0 {
		s.history.commit(at, w.staged)
		close(s.changed)
		s.changed = make(chan struct{})
	}
	return results, w.at, nil
}

// writer stages the writes of one commit. Each sees what those before it did.
type writer struct {
	history *history
	at      *timestamppb.Timestamp
	staged  map[string]*pb.Document
}

func (w *writer) current(name string) *pb.Document {
	if doc, ok := w.staged[name]; ok {
		return doc
	}
	return w.history.at(name, w.history.version())
}

func (w *writer) apply(x *pb.Write) (*pb.WriteResult, error) {
	name := x.GetUpdate().GetName() + x.GetDelete() + x.GetTransform().GetDocument() // One of them is set.
	if name == "" {
		return nil, status.Error(codes.InvalidArgument, "a write without a document")
	}
	now := w.current(name)
	if err := expects(name, now, x.GetCurrentDocument()); err != nil {
		return nil, err
	}
	result := &pb.WriteResult{UpdateTime: w.at}
	if x.GetDelete() != "" {
		w.staged[name] = nil
		return result, nil
	}
	next := &pb.Document{Name: name, CreateTime: w.at}
	if now != nil {
		next = proto.CloneOf(now)
	}
	next.UpdateTime = w.at
	if update := x.GetUpdate(); update != nil {
		overwrite(next, proto.CloneOf(update), x.GetUpdateMask())
	}
	transforms := append(x.GetTransform().GetFieldTransforms(), x.GetUpdateTransforms()...)
	for _, t := range transforms {
		v, err := transformed(fieldOf(next, t.GetFieldPath()), t, w.at)
		if err != nil {
			return nil, err
		}
		setField(next, t.GetFieldPath(), v)
		result.TransformResults = append(result.TransformResults, v)
	}
	if now != nil && proto.Equal(&pb.Document{Fields: now.GetFields()}, &pb.Document{Fields: next.GetFields()}) {
		next, result.UpdateTime = now, now.GetUpdateTime() // What does not change keeps its version.
	}
	w.staged[name] = next
	return result, nil
}

// expects errors when the document is not as the writer expects it.
func expects(name string, now *pb.Document, p *pb.Precondition) error {
	switch c := p.GetConditionType().(type) {
	case *pb.Precondition_Exists:
		if c.Exists && now == nil {
			return status.Errorf(codes.NotFound, "no document to update: %s", name)
		}
		if !c.Exists && now != nil {
			return status.Errorf(codes.AlreadyExists, "document already exists: %s", name)
		}
	case *pb.Precondition_UpdateTime:
		if now == nil || !now.GetUpdateTime().AsTime().Equal(c.UpdateTime.AsTime()) {
			return status.Errorf(codes.FailedPrecondition, "the document changed since: %s", name)
		}
	}
	return nil
}

// overwrite replaces all fields, or those of the mask: the others stay, and those that the update lacks are removed.
func overwrite(doc, update *pb.Document, mask *pb.DocumentMask) {
	if mask == nil {
		doc.Fields = update.GetFields()
		return
	}
	for _, path := range mask.GetFieldPaths() {
		setField(doc, path, fieldOf(update, path))
	}
}
