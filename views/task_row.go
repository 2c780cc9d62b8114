package views

import (
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// TaskRow is a task in a list.
type TaskRow struct {
	lifecycle.TaskSummary
	Href        string
	MessageHref string              // Of its newest message; empty when none is known.
	MaxDeliver  int                 // Zero: not known.
	Stale       lifecycle.StaleKind // Of its lease.
	Ran         time.Duration       // In a worker's hands, up to now.
}

// shownLast is the last event as the row names it. The line of a publish may be captured after the broker stored its message: what is published
// does not read like an attempt at it, unless the stream caught one more.
func (r TaskRow) shownLast() lifecycle.Kind {
	if r.LastEvent == lifecycle.PublishAttempted && r.State == lifecycle.StatePublished && r.Duplicates == 0 {
		return lifecycle.Published
	}
	return r.LastEvent
}

// name is the title, or the id where there is no title.
func (r TaskRow) name() string {
	if r.Title != "" {
		return Cut(r.Title, 160)
	}
	return Cut(r.TaskID, 160)
}

// attemptText is the attempt and how many there may be. Where no attempt is known there was none only while nobody had the message.
func (r TaskRow) attemptText() string {
	switch {
	case r.Attempt == 0 && r.State != lifecycle.StatePublished && r.State != lifecycle.StateRemoved:
		return "–"
	case r.MaxDeliver >= max(r.Attempt, 1):
		return fmt.Sprintf("%d/%d", r.Attempt, r.MaxDeliver)
	}
	return fmt.Sprint(r.Attempt)
}

// attemptMeaning says what the text leaves open; empty where it says all.
func (r TaskRow) attemptMeaning() string {
	switch text := r.attemptText(); {
	case text == "–":
		return "No attempt is known."
	case strings.Contains(text, "/"):
		return ""
	case r.Attempt == 0:
		return "Nobody had it yet. How many attempts are allowed is not known, or there is no limit."
	}
	return "How many attempts are allowed is not known, or there is no limit."
}

func (r TaskRow) messageText() string {
	if r.Message.IsZero() {
		return "none"
	}
	return Printable(r.Message.String())
}

// shownAnomalies are those that deserve a place in a row: what a badge of its own already says is left out.
func (r TaskRow) shownAnomalies() []lifecycle.AnomalyCode {
	var out []lifecycle.AnomalyCode
	for _, c := range r.Anomalies {
		if c == lifecycle.AnomalySilentAttempt || (c == lifecycle.AnomalyVanished && r.State == lifecycle.StateOutcomeUnknown) {
			continue
		}
		if len(out) == 2 {
			break
		}
		out = append(out, c)
	}
	return out
}

// Key is a name for an element about id: short, and of characters that need no escaping.
func Key(prefix, id string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return fmt.Sprintf("%s-%016x", prefix, h.Sum64())
}

// Sign is a short name by which the stream of changes tells of a task. A page takes one in sixteen million others for its own, and then looks once in vain.
func Sign(id string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	sum := h.Sum32()
	sum ^= sum >> 24 // Fold the bits that are not written into those that are.
	return base64.RawURLEncoding.EncodeToString([]byte{byte(sum >> 16), byte(sum >> 8), byte(sum)})
}

func (r TaskRow) noted() bool {
	return r.Stale != "" || r.Duplicates > 0 || r.Category != "" || r.Reason != "" || len(r.shownAnomalies()) > 0
}

// reasonText is the whole reason, with its category.
func (r TaskRow) reasonText() string {
	text := "Why it failed or died: " + Cut(r.Reason, 600)
	if r.Category != "" {
		text += " (" + Cut(categoryName(dlqtriage.Category(r.Category)), 60) + ")"
	}
	return text
}

// idValue is the task id as a value of the id filter. An id that ends in a star would read as a beginning, which still finds it.
func idValue(id string) string { return id }
