package firestoretest

import (
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// BatchGetDocuments implements the service.
func (s *Server) BatchGetDocuments(r *pb.BatchGetDocumentsRequest, stream pb.Firestore_BatchGetDocumentsServer) error {
	answers, err := s.get(r)
	if err != nil {
		return err
	}
	return sendAll(stream, answers)
}

func (s *Server) get(r *pb.BatchGetDocumentsRequest) ([]*pb.BatchGetDocumentsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.viewOf(r.GetNewTransaction(), r.GetTransaction(), r.GetReadTime())
	if err != nil {
		return nil, err
	}
	at := timestamppb.New(v.at)
	var out []*pb.BatchGetDocumentsResponse
	if v.begun != nil {
		out = append(out, &pb.BatchGetDocumentsResponse{Transaction: v.begun})
	}
	for _, name := range r.GetDocuments() {
		if v.tx != nil {
			v.tx.names = append(v.tx.names, name)
		}
		answer := &pb.BatchGetDocumentsResponse{ReadTime: at, Result: &pb.BatchGetDocumentsResponse_Missing{Missing: name}}
		if doc := s.history.at(name, v.version); doc != nil {
			answer.Result = &pb.BatchGetDocumentsResponse_Found{Found: doc}
		}
		out = append(out, answer)
	}
	s.reads += len(r.GetDocuments())
	return out, nil
}

// RunQuery implements the service.
func (s *Server) RunQuery(r *pb.RunQueryRequest, stream pb.Firestore_RunQueryServer) error {
	docs, v, err := s.query(newQuery(r.GetParent(), r.GetStructuredQuery()), r)
	if err != nil {
		return err
	}
	at := timestamppb.New(v.at)
	var out []*pb.RunQueryResponse
	if v.begun != nil || len(docs) == 0 {
		out = append(out, &pb.RunQueryResponse{Transaction: v.begun, ReadTime: at})
	}
	for _, doc := range docs {
		out = append(out, &pb.RunQueryResponse{Document: doc, ReadTime: at})
	}
	return sendAll(stream, out)
}

// RunAggregationQuery implements the service for counts.
func (s *Server) RunAggregationQuery(r *pb.RunAggregationQueryRequest, stream pb.Firestore_RunAggregationQueryServer) error {
	text := r.GetStructuredAggregationQuery()
	docs, v, err := s.query(newQuery(r.GetParent(), text.GetStructuredQuery()), r)
	if err != nil {
		return err
	}
	fields := map[string]*pb.Value{}
	for _, a := range text.GetAggregations() {
		if a.GetCount() == nil {
			return status.Error(codes.Unimplemented, "only counts are supported")
		}
		fields[a.GetAlias()] = &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: int64(len(docs))}}
	}
	return stream.Send(&pb.RunAggregationQueryResponse{
		Result: &pb.AggregationResult{AggregateFields: fields}, ReadTime: timestamppb.New(v.at), Transaction: v.begun,
	})
}

// consistency is the part of a request that says what it looks at.
type consistency interface {
	GetNewTransaction() *pb.TransactionOptions
	GetTransaction() []byte
	GetReadTime() *timestamppb.Timestamp
}

func (s *Server) query(q query, r consistency) ([]*pb.Document, view, error) {
	if err := s.indexes.check(q); err != nil {
		return nil, view{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := s.viewOf(r.GetNewTransaction(), r.GetTransaction(), r.GetReadTime())
	if err != nil {
		return nil, v, err
	}
	if v.tx != nil {
		v.tx.queries = append(v.tx.queries, q)
	}
	docs := q.run(s.history, v.version)
	s.reads += max(1, len(docs))
	return docs, v, nil
}

func sendAll[M any](stream interface{ Send(M) error }, messages []M) error {
	for _, m := range messages {
		if err := stream.Send(m); err != nil {
			return err
		}
	}
	return nil
}
