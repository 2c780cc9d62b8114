package firestoretest

import (
	"encoding/binary"
	"maps"
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// target is what a client listens to: a query, or documents by name.
type target struct {
	id      int32
	query   *query
	names   []string
	history *history // The life of the server that it was told about.
	version int      // And the version.
	told    map[string]*pb.Document
	current bool // It was told everything once.
	reset   bool // What the client remembers is of another life.
}

// resume sets what the client knows already. A token of another life of the server means nothing.
func (t *target) resume(h *history, from *pb.Target) {
	t.history = h
	token, at := from.GetResumeToken(), from.GetReadTime()
	switch {
	case len(token) == 16 && binary.BigEndian.Uint64(token) == life(h):
		t.told = t.state(int(binary.BigEndian.Uint64(token[8:])))
	case len(token) > 0:
		t.reset = true
	case at != nil:
		t.told = t.state(h.versionAt(at.AsTime()))
	}
}

// life tells the lives of a server apart.
func life(h *history) uint64 { return uint64(h.times[0].UnixMicro()) }

func (t *target) token() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, life(t.history)), uint64(t.version))
}

// state is the result as of a version, by name.
func (t *target) state(version int) map[string]*pb.Document {
	out := map[string]*pb.Document{}
	if t.query != nil {
		for _, doc := range t.query.run(t.history, version) {
			out[doc.GetName()] = doc
		}
	}
	for _, name := range t.names {
		if doc := t.history.at(name, version); doc != nil {
			out[name] = doc
		}
	}
	return out
}

// update returns what the client must be told to know the newest version, and how many documents that hands out.
func (t *target) update(at *timestamppb.Timestamp) (out []*pb.ListenResponse, reads int) {
	if t.current && t.version == t.history.version() {
		return nil, 0
	}
	t.version = t.history.version()
	ids := []int32{t.id}
	if t.reset {
		out = append(out, change(pb.TargetChange_RESET, ids, nil, nil))
		t.reset = false
	}
	state := t.state(t.version)
	for _, name := range slices.Sorted(maps.Keys(state)) {
		if old := t.told[name]; old == nil || !proto.Equal(old.GetUpdateTime(), state[name].GetUpdateTime()) {
			reads++
			out = append(out, &pb.ListenResponse{ResponseType: &pb.ListenResponse_DocumentChange{
				DocumentChange: &pb.DocumentChange{Document: state[name], TargetIds: ids},
			}})
		}
	}
	for _, name := range t.gone(state) {
		out = append(out, t.removal(name, at))
	}
	if !t.current {
		out = append(out, change(pb.TargetChange_CURRENT, ids, t.token(), at))
	}
	t.told, t.current = state, true
	return append(out, change(pb.TargetChange_NO_CHANGE, nil, t.token(), at)), reads
}

// gone lists what the client knows, or asked for by name, and what is not in the result.
func (t *target) gone(state map[string]*pb.Document) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(t.told)) {
		if state[name] == nil {
			out = append(out, name)
		}
	}
	for _, name := range t.names {
		if !t.current && state[name] == nil && t.told[name] == nil {
			out = append(out, name)
		}
	}
	return out
}

// removal says that a document was deleted, or that it does not match any more.
func (t *target) removal(name string, at *timestamppb.Timestamp) *pb.ListenResponse {
	ids := []int32{t.id}
	if t.history.at(name, t.version) == nil {
		return &pb.ListenResponse{ResponseType: &pb.ListenResponse_DocumentDelete{
			DocumentDelete: &pb.DocumentDelete{Document: name, RemovedTargetIds: ids, ReadTime: at},
		}}
	}
	return &pb.ListenResponse{ResponseType: &pb.ListenResponse_DocumentRemove{
		DocumentRemove: &pb.DocumentRemove{Document: name, RemovedTargetIds: ids, ReadTime: at},
	}}
}

func change(kind pb.TargetChange_TargetChangeType, ids []int32, token []byte, at *timestamppb.Timestamp) *pb.ListenResponse {
	return &pb.ListenResponse{ResponseType: &pb.ListenResponse_TargetChange{
		TargetChange: &pb.TargetChange{TargetChangeType: kind, TargetIds: ids, ResumeToken: token, ReadTime: at},
	}}
}
