package api

import (
	"context"
	"time"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// Gap is a span in which we may have been blind.
type Gap struct {
	Source   string   `json:"source" example:"OBS_ACK"`
	From     Instant  `json:"from"`
	To       Instant  `json:"to" doc:"Null while it is open."`
	FromSeq  Sequence `json:"from_seq" doc:"First sequence that was lost; null where the source has none."`
	ToSeq    Sequence `json:"to_seq"`
	Reason   Text     `json:"reason"`
	Repaired bool     `json:"repaired" doc:"The lost lines were read again from elsewhere, or none was lost, because the broker was away."`
}

// Quarantined is a line that could not be decoded.
type Quarantined struct {
	ID           string              `json:"id" example:"5f0c2b1a9d8e7f60"`
	Source       string              `json:"source" example:"OBS_ACK"`
	SourceSeq    Sequence            `json:"source_seq"`
	At           Instant             `json:"at"`
	Subject      Text                `json:"subject"`
	Headers      map[string][]string `json:"headers" doc:"Untrusted."`
	Body         string              `json:"body" doc:"Untrusted."`
	BodyEncoding string              `json:"body_encoding" enum:"utf-8,base64" doc:"base64 when the body is not text."`
	Reason       string              `json:"reason" doc:"Why it could not be decoded."`
}

// QuarantineList is the list of lines with how many there are.
type QuarantineList struct {
	List[Quarantined]
	Total int64 `json:"total" doc:"Lines in quarantine. The list has the newest 1,000." example:"2"`
}

// How far back these lists reach, in rows.
const (
	maxGaps        = 1000
	maxQuarantined = 1000
)

// gapListSpan is the span of the list of gaps where nobody says.
const gapListSpan = 7 * 24 * time.Hour

// GapsQuery is the query of the gap list.
type GapsQuery struct {
	PageQuery
	From string `query:"from" doc:"Gaps that end at or after this time: RFC 3339, a date, or a span back from now. Default: 7d."`
	To   string `query:"to" doc:"Gaps that begin before this time, in the same forms. Default: now."`
}

// QuarantineQuery is the query of the quarantine list.
type QuarantineQuery struct{ PageQuery }

func (a *API) describeBlindness() {
	cursorFailure := []httperr.Code{httperr.InvalidCursor}
	register(a, call{
		id: "list-gaps", needs: access.Read, path: Base + "/gaps", tag: "observation", summary: "Gaps: spans in which lines may have been missed", example: exampleGaps(),
		detail: "The latest come first, including repaired ones. What was published, delivered or answered in an open gap may be missing " +
			"everywhere else.",
		failures: cursorFailure,
	}, a.listGaps)
	register(a, call{
		id: "list-quarantine", needs: access.Read, path: Base + "/quarantine", tag: "observation", summary: "Lines that could not be decoded",
		example: exampleQuarantine(), detail: "The latest come first. Each is kept with its bytes. They do not stop the collectors.", failures: cursorFailure,
	}, a.listQuarantine)
}

func (a *API) listGaps(ctx context.Context, in *GapsQuery) (*reply[List[Gap]], error) {
	l, wrongPage := a.listRequest(ctx, in.PageQuery)
	span, wrongSpan := lifecycle.ParseFilter(map[string][]string{"from": {in.From}, "to": {in.To}}, l.base.Time())
	if err := together(wrongSpan, wrongPage); err != nil {
		return nil, err
	}
	if !span.To.Known() {
		span.To = l.base + 1
	}
	if !span.From.Known() {
		span.From = span.To.Add(-gapListSpan)
	}
	gaps, err := a.cfg.Query.Gaps(ctx, span.From, span.To, maxGaps)
	if err != nil {
		return nil, err
	}
	page, p := window(l, gaps, func(g lifecycle.Gap) query.Cursor { return query.Cursor{At: -g.From, Key: g.Source} })
	rows := make([]Gap, len(page))
	for i, g := range page {
		rows[i] = Gap{
			Source: g.Source, From: Instant(g.From), To: Instant(g.To), FromSeq: Sequence(g.FromSeq), ToSeq: Sequence(g.ToSeq),
			Reason: Text(g.Reason), Repaired: g.Repaired,
		}
	}
	return listReply(ctx, l, rows, p, refsOf(page)), nil
}

func (a *API) listQuarantine(ctx context.Context, in *QuarantineQuery) (*reply[QuarantineList], error) {
	l, err := a.listRequest(ctx, in.PageQuery)
	if err != nil {
		return nil, err
	}
	lines, total, err := a.cfg.Query.Quarantine(ctx, maxQuarantined)
	if err != nil {
		return nil, err
	}
	page, p := window(l, lines, func(q lifecycle.QuarantinedLine) query.Cursor { return query.Cursor{At: -q.At, Key: q.ID.String()} })
	rows := make([]Quarantined, len(page))
	for i, q := range page {
		rows[i] = quarantinedOf(q)
	}
	list := listReply(ctx, l, rows, p, []GapRef{})
	return &reply[QuarantineList]{
		Status: list.Status, ETag: list.ETag, Link: list.Link, CacheControl: list.CacheControl,
		Body: QuarantineList{List: list.Body, Total: total},
	}, nil
}

func quarantinedOf(q lifecycle.QuarantinedLine) Quarantined {
	out := Quarantined{
		ID: q.ID.String(), Source: q.Source, SourceSeq: Sequence(q.SourceSeq), At: Instant(q.At), Subject: Text(q.Subject),
		Headers: q.Headers, Reason: q.Reason,
	}
	if out.Headers == nil {
		out.Headers = map[string][]string{}
	}
	out.Body, out.BodyEncoding = bytesAsText(q.Body)
	return out
}
