package idempotency

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"

	"cloud.google.com/go/firestore"
	"google.golang.org/genproto/googleapis/type/latlng"

	"fleetglass/collectors"
	"fleetglass/lifecycle"
)

// document is one revision of a document.
type document struct {
	path     string           // From the root of the database, such as task-idempotency/T-1.
	created  lifecycle.Micros // All times are Firestore's.
	updated  lifecycle.Micros
	read     lifecycle.Micros
	revision string // The exact update time: with the path it names the revision.
	fields   map[string]any
}

func documentOf(snap *firestore.DocumentSnapshot) document {
	return document{
		path: pathOf(snap.Ref), created: lifecycle.MicrosOf(snap.CreateTime), updated: lifecycle.MicrosOf(snap.UpdateTime),
		read: lifecycle.MicrosOf(snap.ReadTime), revision: snap.UpdateTime.UTC().Format(time.RFC3339Nano), fields: snap.Data(),
	}
}

func pathOf(ref *firestore.DocumentRef) string {
	_, path, _ := strings.Cut(ref.Path, "/documents/")
	return path
}

// id is the last element of the path.
func (d document) id() string { return d.path[strings.LastIndexByte(d.path, '/')+1:] }

// text is the field as text; empty where it is missing or of another type.
func (d document) text(field string) string {
	s, _ := d.fields[field].(string)
	return s
}

// firstText is the first of several fields that holds text.
func (d document) firstText(fields ...string) string {
	for _, f := range fields {
		if s := d.text(f); strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

// event begins the event that the revision gives: id, source, time and the document itself are set.
func (d document) event(kind lifecycle.Kind) lifecycle.Event {
	return lifecycle.Event{
		ID: d.eventID(), At: d.updated, Kind: kind, Provenance: kind.Row().Provenance, Source: d.path, Raw: d.line().Raw(),
	}
}

// eventID is that of the revision, or of what became of it.
func (d document) eventID(what ...string) lifecycle.EventID {
	return lifecycle.NewEventID(firestorePart, append([]string{d.path, d.revision}, what...)...)
}

// line is the document in the form in which lines of all sources are kept.
func (d document) line() collectors.Line {
	return collectors.Line{Source: lifecycle.StreamID{Name: firestorePart}, At: d.updated, Subject: d.path, Body: d.json()}
}

// quarantined keeps the revision with the reason why it could not be understood.
func (d document) quarantined(reason string) lifecycle.QuarantinedLine {
	q := d.line().Quarantined(reason)
	q.ID = d.eventID()
	return q
}

func (d document) json() []byte {
	body, err := json.Marshal(plain(d.fields))
	if err != nil { // Cannot happen: plain leaves only what JSON knows.
		return nil
	}
	return body
}

// plain turns a value of Firestore into one that JSON knows. Times become RFC 3339, bytes base64.
func plain(v any) any {
	switch x := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, inner := range x {
			out[k] = plain(inner)
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, inner := range x {
			out[i] = plain(inner)
		}
		return out
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return fmt.Sprint(x)
		}
		return x
	case nil, bool, string, int64, []byte, time.Time:
		return x
	case *firestore.DocumentRef:
		return pathOf(x)
	case *latlng.LatLng:
		return map[string]any{"latitude": plain(x.GetLatitude()), "longitude": plain(x.GetLongitude())}
	}
	return fmt.Sprint(v)
}
