package firestoretest

import (
	"context"
	"maps"
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// ListDocuments implements the service, in one page. With show_missing documents that only have descendants are listed too.
func (s *Server) ListDocuments(_ context.Context, r *pb.ListDocumentsRequest) (*pb.ListDocumentsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix := r.GetParent() + "/" + r.GetCollectionId() + "/"
	found := map[string]*pb.Document{}
	for name := range s.history.docs {
		rest, below := strings.CutPrefix(name, prefix)
		doc := s.history.at(name, s.history.version())
		if !below || doc == nil {
			continue
		}
		id, _, deeper := strings.Cut(rest, "/")
		switch {
		case !deeper:
			found[id] = doc
		case r.GetShowMissing() && found[id] == nil:
			found[id] = &pb.Document{Name: prefix + id}
		}
	}
	s.reads += max(1, len(found))
	out := &pb.ListDocumentsResponse{}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		out.Documents = append(out.Documents, found[id])
	}
	return out, nil
}

// ListCollectionIds implements the service, in one page.
func (s *Server) ListCollectionIds(_ context.Context, r *pb.ListCollectionIdsRequest) (*pb.ListCollectionIdsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]bool{}
	for name := range s.history.docs {
		rest, below := strings.CutPrefix(name, r.GetParent()+"/")
		if below && s.history.at(name, s.history.version()) != nil {
			id, _, _ := strings.Cut(rest, "/")
			found[id] = true
		}
	}
	return &pb.ListCollectionIdsResponse{CollectionIds: slices.Sorted(maps.Keys(found))}, nil
}
