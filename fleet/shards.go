package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

// MaxShards is the largest number of shards of a capture stream.
const MaxShards = 64

// shardPrefix begins the subject of a line of a capture stream that is cut into shards: obs.shard.<of>.<part>.<subject as it was>. No subject of a
// fleet begins so, because [Contract.Validate] refuses obs as a prefix.
const shardPrefix = "obs.shard."

// ValidShards reports whether capture streams can be cut into n shards: a power of two up to [MaxShards], or 1, which leaves them whole.
func ValidShards(n int) bool { return n >= 1 && n <= MaxShards && n&(n-1) == 0 }

// Shard is one of the equal parts that every capture stream is cut into: shard i of one stream holds lines of the same agents as shard i of the
// others. The zero value is a whole stream.
type Shard struct {
	Of    int // Into how many; 0 and 1 for none.
	Index int // From 0.
}

// Shards are all shards when capture streams are cut into n.
func Shards(n int) []Shard {
	if n <= 1 {
		return []Shard{{}}
	}
	out := make([]Shard, n)
	for i := range out {
		out[i] = Shard{Of: n, Index: i}
	}
	return out
}

// Whole reports whether it is the whole stream.
func (s Shard) Whole() bool { return s.Of <= 1 }

// Suffix tells the durables of shards apart; empty for a whole stream.
func (s Shard) Suffix() string {
	if s.Whole() {
		return ""
	}
	return fmt.Sprintf("_s%dof%d", s.Index, s.Of)
}

// shardedBy says how a capture stream is cut: the lines that are, and which wildcard of them decides.
type shardedBy struct {
	lines    string // Subjects that are cut, with wildcards.
	token    int    // Number of the wildcard with the agent's name, or its worker's.
	rest     string // All subjects of the stream.
	byWorker bool
}

// sharding is how a capture stream is cut. It is not ok for other streams. Acknowledgements in the long form and advisories about streams stay
// as they are: no wildcard of theirs is a worker's name.
func (c Contract) sharding(stream string) (by shardedBy, ok bool) {
	switch stream {
	case CapturePub:
		return shardedBy{lines: pubPrefix + ".*.>", token: 1, rest: pubPrefix + ".>"}, true
	case CaptureRaw:
		return shardedBy{lines: rawPrefix + ".*.>", token: 1, rest: rawPrefix + ".>"}, true
	case CaptureReport:
		return shardedBy{lines: c.Prefix + ".lifecycle.*.>", token: 1, rest: c.Prefix + ".lifecycle.>"}, true
	case CaptureAck:
		return shardedBy{lines: "$JS.ACK.*.*.*.*.*.*.*", token: 2, rest: "$JS.ACK.>", byWorker: true}, true
	case CaptureEvt:
		return shardedBy{lines: "$JS.EVENT.*.CONSUMER.*.*.*", token: 4, rest: "$JS.EVENT.>", byWorker: true}, true
	}
	return by, false
}

// shardTransform is what the broker does with the subject of each line; nil where the stream stays whole.
func (c Contract) shardTransform(stream string, n int) *jetstream.SubjectTransformConfig {
	by, ok := c.sharding(stream)
	if !ok || n <= 1 {
		return nil
	}
	kept := strings.Split(by.lines, ".")
	wildcard := 0
	for i, token := range kept {
		if token == "*" {
			wildcard++
			kept[i] = fmt.Sprintf("{{wildcard(%d)}}", wildcard)
		}
	}
	return &jetstream.SubjectTransformConfig{
		Source: by.lines, Destination: fmt.Sprintf("%s%d.{{partition(%d,%d)}}.%s", shardPrefix, n, n, by.token, strings.Join(kept, ".")),
	}
}

// shardFilters are the subjects of the lines of one shard; nil for a whole stream. The first shard takes, beside its own, every line that was not
// cut, or was cut into another number of shards.
func (c Contract) shardFilters(stream string, s Shard) []string {
	by, ok := c.sharding(stream)
	if !ok || s.Whole() {
		return nil
	}
	part := s.Index
	if by.byWorker {
		part = partOfWorkers(s)
	}
	filters := []string{fmt.Sprintf("%s%d.%d.>", shardPrefix, s.Of, part)}
	if s.Index > 0 {
		return filters
	}
	for n := 2; n <= MaxShards; n *= 2 {
		if n != s.Of {
			filters = append(filters, fmt.Sprintf("%s%d.>", shardPrefix, n))
		}
	}
	return append(filters, by.rest)
}

// partOfWorkers is the part of the workers' names that belongs to the part of the agents' names. The broker's partition is the FNV-1a hash of the
// token, and the last bits of that hash after the suffix of a worker's name follow from the last bits before it. So where the number of shards is
// a power of two, the workers of the agents of one shard are all in one shard too.
func partOfWorkers(s Shard) int {
	h := uint32(s.Index)
	for _, b := range []byte(lifecycle.WorkerSuffix) {
		h = (h ^ uint32(b)) * 16777619
	}
	return int(h % uint32(s.Of))
}

// OriginalSubject is the subject of a captured line as it was before its stream was cut into shards.
func OriginalSubject(subject string) string {
	rest, cut := strings.CutPrefix(subject, shardPrefix)
	if !cut {
		return subject
	}
	if _, rest, cut = strings.Cut(rest, "."); cut {
		_, rest, cut = strings.Cut(rest, ".")
	}
	if !cut {
		return subject
	}
	return rest
}

// CapturedSubjects are the subjects under which a capture stream may have stored a line of the given one, which may have wildcards: as it was, and
// cut into any number of shards.
func CapturedSubjects(subject string) []string {
	return []string{subject, shardPrefix + "*.*." + subject}
}

// ShardsOf is into how many shards a capture stream cuts its lines, 1 for a whole one. It is not ok where it changes their subjects in another way.
func (c Contract) ShardsOf(cfg jetstream.StreamConfig) (n int, ok bool) {
	if cfg.SubjectTransform == nil {
		return 1, true
	}
	for n := 2; n <= MaxShards; n *= 2 {
		if want := c.shardTransform(cfg.Name, n); want != nil && *want == *cfg.SubjectTransform {
			return n, true
		}
	}
	return 0, false
}

// IsSharded reports whether a stream is cut into shards where that is asked for.
func IsSharded(stream string) bool {
	return slices.ContainsFunc(captureSources, func(r Reader) bool { return r.Stream == stream })
}
