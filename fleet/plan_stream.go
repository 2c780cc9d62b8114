package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Fields that Fleetglass cannot work without, by kind of stream. Everything else that differs is the fleet's own choice.
var (
	neededOfCapture = []string{"subjects", "no_ack", "discard", "sources", "republish", "mirror", "sealed", "subject_transform"}
	neededOfTasks   = []string{"republish"}
	neededOfRecords = []string{"allow_msg_ttl"}
)

// fixed are fields that the broker refuses to change on an existing stream.
var fixed = []string{"storage", "retention", "mirror", "sealed"}

// compared are the fields in which an existing stream of the fleet is held against the recommendation.
var compared = []string{
	"subjects", "retention", "storage", "discard", "max_age", "max_bytes", "max_msgs", "max_msgs_per_subject", "duplicate_window",
	"allow_direct", "num_replicas", "sources", "no_ack",
}

func planStream(wanted jetstream.StreamConfig, existing map[string]map[string]any, s Streams) (Change, error) {
	want, err := fieldsOf(wanted)
	if err != nil {
		return Change{}, err
	}
	have, found := existing[wanted.Name]
	switch {
	case !found && wanted.Name == StreamTasks && len(s.Others) > 0:
		return planWithout(want, s.Others), nil
	case !found:
		return planNew(want, existing), nil
	}
	c := Change{Stream: wanted.Name, Action: ActionNone, config: maps.Clone(have)}
	needed := neededFields(wanted.Name)
	if wanted.Name == StreamTasks {
		keepBodies(want, have, s.Bodies)
		c.checkTasks(have, s.Contract)
	}
	if wanted.Name == recordsStream {
		needed = append(slices.Clone(needed), tooLow(want, have, "max_msgs_per_subject", "subject_delete_marker_ttl")...)
	}
	for _, field := range union(needed, compared) {
		c.compare(field, want[field], have[field], slices.Contains(needed, field))
	}
	c.settle()
	return c, nil
}

// minMarker is how long a marker must be kept at least.
const minMarker = time.Minute

// tooLow are the fields that must be raised: below five revisions, or markers of a minute, a watcher that was away misses the end of a record.
func tooLow(want, have map[string]any, fields ...string) []string {
	var low []string
	for _, field := range fields {
		if n := asInt(have[field]); n <= 0 || n < min(asInt(want[field]), int(minMarker)) {
			low = append(low, field)
		}
	}
	return low
}

func neededFields(stream string) []string {
	if strings.HasPrefix(stream, DLQStream("")) {
		return nil
	}
	switch stream {
	case StreamTasks:
		return neededOfTasks
	case StreamDLQ, StreamRetry:
		return nil
	case recordsStream:
		return neededOfRecords
	case CapturePub, CaptureRaw:
		return append(slices.Clone(neededOfCapture), "duplicate_window", "allow_msg_ttl")
	}
	return neededOfCapture
}

func planNew(want map[string]any, existing map[string]map[string]any) Change {
	c := Change{Stream: fmt.Sprint(want["name"]), Action: ActionCreate, config: want}
	for _, field := range slices.Sorted(maps.Keys(want)) {
		if text := readable(field, want[field]); text != "" && field != "name" {
			c.Fields = append(c.Fields, FieldChange{Field: field, New: text})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(existing)) {
		if a, b, clash := overlap(asTexts(want["subjects"]), asTexts(existing[name]["subjects"])); clash {
			c.Action = ActionBlock
			c.Problems = append(c.Problems, fmt.Sprintf("stream %s already stores %s, which overlaps %s", name, b, a))
		}
	}
	return c
}

// keepBodies leaves the choice between bodies and headers as it is, unless one was asked for.
func keepBodies(want, have map[string]any, asked Bodies) {
	old, _ := have["republish"].(map[string]any)
	if republish, ok := want["republish"].(map[string]any); ok && asked == BodiesAsIs && old["headers_only"] == true {
		republish["headers_only"] = true
	}
}

// checkTasks looks for settings of TASKS that Fleetglass must not change and cannot live with.
func (c *Change) checkTasks(have map[string]any, contract Contract) {
	if old, ok := have["republish"].(map[string]any); ok {
		if dest := fmt.Sprint(old["dest"]); !strings.HasPrefix(dest, pubPrefix+".") {
			c.Problems = append(c.Problems, fmt.Sprintf("it republishes to %s already, and a stream has one republish only; "+
				"point it to %s.{{wildcard(1)}}.> by hand if nobody needs the old one", dest, pubPrefix))
		}
	}
	subjects := asTexts(have["subjects"])
	if _, _, any := overlap([]string{contract.TaskSubjects()}, subjects); !any {
		c.Problems = append(c.Problems, fmt.Sprintf("it stores %s, none of which is a task subject of this fleet (%s); is the prefix right?",
			strings.Join(subjects, ", "), contract.TaskSubjects()))
	}
}

func (c *Change) compare(field string, want, have any, needed bool) {
	w, h := readable(field, want), readable(field, have)
	if w == h {
		return
	}
	diff := FieldChange{Field: field, Old: h, New: w}
	switch {
	case needed && slices.Contains(fixed, field):
		c.Problems = append(c.Problems, fmt.Sprintf("%s is %s, must be %s, and cannot be changed on an existing stream", field, orNone(h), orNone(w)))
	case needed:
		c.Fields = append(c.Fields, diff)
		if w == "" {
			delete(c.config, field)
		} else {
			c.config[field] = want
		}
	default:
		c.Kept = append(c.Kept, diff)
	}
}

func (c *Change) settle() {
	switch {
	case len(c.Problems) > 0:
		c.Action = ActionBlock
	case len(c.Fields) > 0:
		c.Action = ActionUpdate
	}
}

func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

func asInt(v any) int {
	n, _ := strconv.Atoi(fmt.Sprint(v))
	return n
}

func asTexts(v any) []string {
	list, _ := v.([]any)
	texts := make([]string, 0, len(list))
	for _, x := range list {
		texts = append(texts, fmt.Sprint(x))
	}
	return texts
}
