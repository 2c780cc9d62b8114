package collectors

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"fleetglass/lifecycle"
)

// Limits of texts in events. Names are indexed by stores, which bound the size of an indexed value.
const (
	maxName = 255
	maxText = 4096
)

// storable makes untrusted text fit for any store: valid UTF-8 without NUL, at most limit bytes. Text that had to be cut ends in a
// hash of the whole, so that two different texts stay different.
func storable(s string, limit int) string {
	if s == "" { // Most texts of an event are.
		return s
	}
	return repaired(s, limit)
}

func repaired(s string, limit int) string {
	if len(s) <= limit && utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	whole := s
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= limit {
		return s
	}
	sum := sha256.Sum256([]byte(whole))
	mark := "~" + hex.EncodeToString(sum[:6])
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

func storableHeaders(h map[string][]string) map[string][]string {
	if len(h) == 0 {
		return nil
	}
	out := make(map[string][]string, len(h))
	for name, values := range h {
		name = storable(name, maxName)
		for _, v := range values {
			out[name] = append(out[name], storable(v, maxRawBytes))
		}
	}
	return out
}

// MakeStorable bounds and repairs every text of a batch, whatever its decoder let through. Bodies and raw lines are bytes and stay
// as they are.
func MakeStorable(b *lifecycle.Batch) {
	for i := range b.Events {
		e := &b.Events[i]
		for _, name := range []*string{&e.TaskID, &e.Agent, &e.Consumer, &e.Detail.Type, &e.Detail.MsgID} {
			*name = storable(*name, maxName)
		}
		for _, text := range texts(&e.Detail) {
			*text = storable(*text, maxText)
		}
		for j := range e.Detail.Evidence {
			v := &e.Detail.Evidence[j]
			v.Source, v.Text = storable(v.Source, maxName), storable(v.Text, maxText)
		}
	}
	for i := range b.Payloads {
		b.Payloads[i].Headers = storableHeaders(b.Payloads[i].Headers)
	}
}

// texts are those of a detail that are no names.
func texts(d *lifecycle.Detail) [23]*string {
	return [...]*string{
		&d.Subject, &d.IdempotencyKey, &d.RetryOf, &d.TriageAction, &d.TraceParent, &d.Publisher, &d.Title, &d.PayloadHash,
		&d.Reason, &d.Category, &d.Path, &d.Entry, &d.LeaseOwner, &d.StepID, &d.StepClass, &d.Tool, &d.InputHash, &d.ResultRef,
		&d.Status, &d.Model, &d.CategoryDetail, &d.CauseKind, &d.Rule,
	}
}
