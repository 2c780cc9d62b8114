package firestoretest

import (
	"sort"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// history keeps every revision of every document, so that any past version can be read: transactions, reads at a time and resumed
// listeners rest on it. It is not safe for concurrent use.
type history struct {
	docs   map[string][]revision
	times  []time.Time // When each version was committed; version 0 is the empty database.
	latest time.Time   // The latest time that was told to anybody. Commits are later, so that what was read stays true.
}

// revision is a document as of a version.
type revision struct {
	version int
	doc     *pb.Document // Nil where the document was deleted.
}

func newHistory(now time.Time) *history {
	now = now.Truncate(time.Microsecond)
	return &history{docs: map[string][]revision{}, times: []time.Time{now}, latest: now}
}

// version is the newest version.
func (h *history) version() int { return len(h.times) - 1 }

// versionAt is the newest version that was committed no later than t.
func (h *history) versionAt(t time.Time) int {
	return max(0, sort.Search(len(h.times), func(i int) bool { return h.times[i].After(t) })-1)
}

// at is the document as of a version; nil where it does not exist.
func (h *history) at(name string, version int) *pb.Document {
	revisions := h.docs[name]
	i := sort.Search(len(revisions), func(i int) bool { return revisions[i].version > version })
	if i == 0 {
		return nil
	}
	return revisions[i-1].doc
}

// readTime is the time of a read of the newest version.
func (h *history) readTime(now time.Time) time.Time {
	if now = now.Truncate(time.Microsecond); now.After(h.latest) {
		h.latest = now
	}
	return h.latest
}

// commitTime is the time of the next commit.
func (h *history) commitTime(now time.Time) time.Time {
	if now = now.Truncate(time.Microsecond); now.After(h.latest) {
		return now
	}
	return h.latest.Add(time.Microsecond)
}

// commit makes a new version of documents; nil deletes.
func (h *history) commit(at time.Time, staged map[string]*pb.Document) {
	h.times, h.latest = append(h.times, at), at
	for name, doc := range staged {
		h.docs[name] = append(h.docs[name], revision{h.version(), doc})
	}
}
