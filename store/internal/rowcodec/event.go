package rowcodec

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"fleetglass/lifecycle"
)

// AppendEvent appends an event without what addresses it: its id, its time, its task and its message.
func AppendEvent(b []byte, e *lifecycle.Event) []byte {
	w := writer(b)
	w.text(1, string(e.Kind))
	w.text(2, string(e.Provenance))
	w.text(3, e.Source)
	w.uint(4, e.SourceSeq)
	w.text(5, e.Agent)
	w.text(6, e.Consumer)
	w.uint(7, e.ConsumerSeq)
	w.int(8, int64(e.Attempt))
	w.bytes(9, e.Raw)
	writeDetail(&w, &e.Detail)
	return w
}

func writeDetail(w *writer, d *lifecycle.Detail) {
	w.text(20, d.MsgID)
	w.text(21, d.Subject)
	w.text(22, d.Type)
	w.text(23, d.IdempotencyKey)
	w.int(24, int64(d.Generation))
	w.text(25, d.RetryOf)
	w.text(26, d.TriageAction)
	w.text(27, d.TraceParent)
	w.text(28, d.Title)
	w.at(29, d.CreatedAt)
	w.int(30, d.Size)
	w.text(31, d.PayloadHash)
	w.bool(32, d.BestEffort)
	w.int(33, int64(d.Delay))
	w.text(34, d.Reason)
	w.int(35, int64(d.AckTime))
	w.at(36, d.Basis)
	w.at(37, d.Deadline)
	w.bool(38, d.Exact)
	w.text(39, d.Category)
	w.text(40, d.Path)
	w.text(41, d.Entry)
	w.text(42, d.LeaseOwner)
	w.uint(43, d.LeaseVersion)
	w.at(44, d.LeaseExpiresAt)
	w.text(45, d.StepID)
	w.text(46, d.StepClass)
	w.text(47, d.Tool)
	w.text(48, d.InputHash)
	w.text(49, d.ResultRef)
	w.text(50, d.Status)
	w.text(51, d.Model)
	w.int(52, d.InputTokens)
	w.int(53, d.OutputTokens)
	w.float(54, d.CostUSD)
	w.at(55, d.ExpiresAt)
	w.int(56, int64(d.RecordsWait))
	w.uint(57, d.Revision)
	w.text(58, string(d.Outcome))
	w.text(59, d.Action)
	w.text(60, d.Actor)
	w.at(61, d.Until)
	w.text(62, string(d.Removal))
	w.bool(63, d.Undelivered)
	w.uint(64, d.RecordSeq)
	w.at(65, d.Judged)
	w.int(66, int64(d.TTL))
}

// ReadEvent adds to e, which is addressed already, what AppendEvent wrote.
func ReadEvent(e *lifecycle.Event, b []byte) error {
	r := reader{rest: b}
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			e.Kind = lifecycle.Kind(r.text())
		case 2:
			e.Provenance = lifecycle.Provenance(r.text())
		case 3:
			e.Source = r.text()
		case 4:
			e.SourceSeq = r.uint()
		case 5:
			e.Agent = r.text()
		case 6:
			e.Consumer = r.text()
		case 7:
			e.ConsumerSeq = r.uint()
		case 8:
			e.Attempt = int(r.int())
		case 9:
			e.Raw = slices.Clone(r.data)
		default:
			readDetail(&r, field, &e.Detail)
		}
	}
	if r.err != nil {
		return fmt.Errorf("read event %v: %w", e.ID, r.err)
	}
	return nil
}

func readDetail(r *reader, field int, d *lifecycle.Detail) {
	switch field {
	case 20:
		d.MsgID = r.text()
	case 21:
		d.Subject = r.text()
	case 22:
		d.Type = r.text()
	case 23:
		d.IdempotencyKey = r.text()
	case 24:
		d.Generation = int(r.int())
	case 25:
		d.RetryOf = r.text()
	case 26:
		d.TriageAction = r.text()
	case 27:
		d.TraceParent = r.text()
	case 28:
		d.Title = r.text()
	case 29:
		d.CreatedAt = r.at()
	case 30:
		d.Size = r.int()
	case 31:
		d.PayloadHash = r.text()
	case 32:
		d.BestEffort = r.bool()
	case 33:
		d.Delay = time.Duration(r.int())
	case 34:
		d.Reason = r.text()
	case 35:
		d.AckTime = time.Duration(r.int())
	case 36:
		d.Basis = r.at()
	case 37:
		d.Deadline = r.at()
	case 38:
		d.Exact = r.bool()
	case 39:
		d.Category = r.text()
	case 40:
		d.Path = r.text()
	case 41:
		d.Entry = r.text()
	default:
		readReported(r, field, d)
	}
}

func readReported(r *reader, field int, d *lifecycle.Detail) {
	switch field {
	case 42:
		d.LeaseOwner = r.text()
	case 43:
		d.LeaseVersion = r.uint()
	case 44:
		d.LeaseExpiresAt = r.at()
	case 45:
		d.StepID = r.text()
	case 46:
		d.StepClass = r.text()
	case 47:
		d.Tool = r.text()
	case 48:
		d.InputHash = r.text()
	case 49:
		d.ResultRef = r.text()
	case 50:
		d.Status = r.text()
	case 51:
		d.Model = r.text()
	case 52:
		d.InputTokens = r.int()
	case 53:
		d.OutputTokens = r.int()
	case 54:
		d.CostUSD = r.float()
	case 55:
		d.ExpiresAt = r.at()
	case 56:
		d.RecordsWait = time.Duration(r.int())
	case 57:
		d.Revision = r.uint()
	case 58:
		d.Outcome = lifecycle.Outcome(r.text())
	case 59:
		d.Action = r.text()
	case 60:
		d.Actor = r.text()
	case 61:
		d.Until = r.at()
	case 62:
		d.Removal = lifecycle.Removal(r.text())
	case 63:
		d.Undelivered = r.bool()
	case 64:
		d.RecordSeq = r.uint()
	case 65:
		d.Judged = r.at()
	case 66:
		d.TTL = time.Duration(r.int())
	}
}

// AppendHeaders appends message headers.
func AppendHeaders(b []byte, headers map[string][]string) []byte {
	w := writer(b)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		w.group(1, func(w *writer) {
			w.element(1, name)
			for _, v := range headers[name] {
				w.element(2, v)
			}
		})
	}
	return w
}

// Headers reads what AppendHeaders wrote; none gives nil.
func Headers(b []byte) (map[string][]string, error) {
	var out map[string][]string
	r := reader{rest: b}
	for field := r.next(); field != 0; field = r.next() {
		if out == nil {
			out = map[string][]string{}
		}
		r.group(func(r *reader) { readHeader(r, out) })
	}
	if r.err != nil {
		return nil, fmt.Errorf("read headers: %w", r.err)
	}
	return out, nil
}

func readHeader(r *reader, into map[string][]string) {
	name, values := "", []string(nil)
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			name = r.text()
		case 2:
			values = append(values, r.text())
		}
	}
	into[name] = values
}
