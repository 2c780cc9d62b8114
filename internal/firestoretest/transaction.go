package firestoretest

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// transaction remembers what was read, so that a commit can tell whether it is still so.
type transaction struct {
	version  int
	readOnly bool
	names    []string
	queries  []query
}

// conflicts reports whether anything that was read has changed since.
func (tx *transaction) conflicts(h *history) bool {
	now := h.version()
	if slices.ContainsFunc(tx.names, func(name string) bool { return h.at(name, tx.version) != h.at(name, now) }) {
		return true
	}
	return slices.ContainsFunc(tx.queries, func(q query) bool {
		return !slices.EqualFunc(q.run(h, tx.version), q.run(h, now), func(a, b *pb.Document) bool {
			return a.GetName() == b.GetName() && proto.Equal(a.GetUpdateTime(), b.GetUpdateTime())
		})
	})
}

// begin opens a transaction. The caller holds the lock.
func (s *Server) begin(options *pb.TransactionOptions) (id []byte, tx *transaction) {
	s.issued++
	tx = &transaction{version: s.history.version()}
	if only := options.GetReadOnly(); only != nil {
		tx.readOnly = true
		if at := only.GetReadTime(); at != nil {
			tx.version = s.history.versionAt(at.AsTime())
		}
	}
	id = binary.BigEndian.AppendUint64(nil, s.issued)
	s.transactions[string(id)] = tx
	return id, tx
}

// found returns an open transaction. The caller holds the lock.
func (s *Server) found(id []byte) (*transaction, error) {
	if tx := s.transactions[string(id)]; tx != nil {
		return tx, nil
	}
	return nil, status.Error(codes.InvalidArgument, "the transaction does not exist or has ended")
}

// view is what a read looks at.
type view struct {
	version int
	at      time.Time
	tx      *transaction // Nil outside transactions.
	begun   []byte       // The transaction that the read began; nil otherwise.
}

// viewOf says what a read looks at: a new transaction, an open one, a time, or what is so now. The caller holds the lock.
func (s *Server) viewOf(begin *pb.TransactionOptions, id []byte, at *timestamppb.Timestamp) (view, error) {
	v := view{version: s.history.version(), at: s.history.readTime(s.now())}
	switch {
	case begin != nil:
		v.begun, v.tx = s.begin(begin)
	case len(id) > 0:
		tx, err := s.found(id)
		if err != nil {
			return view{}, err
		}
		v.tx = tx
	case at != nil:
		v.version, v.at = s.history.versionAt(at.AsTime()), at.AsTime()
	}
	if v.tx != nil {
		v.version = v.tx.version
	}
	return v, nil
}

// BeginTransaction implements the service.
func (s *Server) BeginTransaction(_ context.Context, r *pb.BeginTransactionRequest) (*pb.BeginTransactionResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, _ := s.begin(r.GetOptions())
	return &pb.BeginTransactionResponse{Transaction: id}, nil
}

// Rollback implements the service.
func (s *Server) Rollback(_ context.Context, r *pb.RollbackRequest) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.transactions, string(r.GetTransaction()))
	return &emptypb.Empty{}, nil
}
