package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/internal/httperr"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// List is the envelope of every list.
type List[T any] struct {
	Data []T      `json:"data" nullable:"false" doc:"The rows of this page."`
	Page Page     `json:"page"`
	AsOf Instant  `json:"as_of" doc:"When the store was asked."`
	Gaps []GapRef `json:"gaps" nullable:"false" doc:"Spans within the time of this page in which lines may have been missed."`

	rows []byte // Data in JSON, which the tag was made of; nil for not yet.
}

// Page says how to go on.
type Page struct {
	Next Text `json:"next" doc:"Cursor of the following page; null at the end."`
	Prev Text `json:"prev" doc:"Cursor of the page before; null at the beginning."`
}

// GapRef is a gap as far as a reader of a list needs it.
type GapRef struct {
	Source string  `json:"source" doc:"The capture stream or collector that may have missed lines." example:"OBS_ACK"`
	From   Instant `json:"from"`
	To     Instant `json:"to" doc:"Null while the gap is open."`
	Reason Text    `json:"reason" doc:"What may have been missed, and why."`
}

// Limits of pages, in rows.
const (
	defaultLimit = 50
	maxLimit     = 200
)

// LimitParam is the limit parameter. It is read as text so that a wrong one is answered like every other wrong parameter.
type LimitParam string

// Schema implements huma.SchemaProvider.
func (LimitParam) Schema(huma.Registry) *huma.Schema {
	low, high := 1.0, float64(maxLimit)
	return &huma.Schema{Type: huma.TypeInteger, Minimum: &low, Maximum: &high, Default: defaultLimit}
}

// rows reads the number of rows asked for.
func (l LimitParam) rows() (int, error) {
	if l == "" {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(string(l))
	if err != nil || n < 1 || n > maxLimit {
		return 0, httperr.Parameter("limit", "must be a number from 1 to "+strconv.Itoa(maxLimit))
	}
	return n, nil
}

// PageQuery is the part of a query that moves within a list.
type PageQuery struct {
	Limit  LimitParam `query:"limit" doc:"Rows per page."`
	Cursor string     `query:"cursor" doc:"Place in the list, from page.next or page.prev of the same list. Its form is private."`
}

// WholeQuery is the part of a query that moves within a list that is answered whole unless a limit is asked for.
type WholeQuery struct {
	Limit  WholeLimit `query:"limit" doc:"Rows per page. All rows are on one page where it is left out."`
	Cursor string     `query:"cursor" doc:"Place in the list, from page.next or page.prev of the same list. Its form is private."`
}

// WholeLimit is the limit parameter of a [WholeQuery].
type WholeLimit LimitParam

// Schema implements huma.SchemaProvider.
func (WholeLimit) Schema(r huma.Registry) *huma.Schema {
	s := LimitParam("").Schema(r)
	s.Default = nil
	return s
}

// wholeRows is more rows than such a list has.
const wholeRows = 1_000_000

// wholeRequest reads the query of a list that is answered whole.
func (a *API) wholeRequest(ctx context.Context, q WholeQuery) (listRequest, error) {
	l, err := a.listRequest(ctx, PageQuery{Limit: LimitParam(q.Limit), Cursor: q.Cursor})
	if q.Limit == "" {
		l.limit = wholeRows
	}
	return l, err
}

// wholeReply is the reply with a list that says more than its rows. stable is the body without what the clock alone changes.
func wholeReply[T any](ctx context.Context, l listRequest, p Page, body, stable T) *reply[T] {
	out := withTag(ctx, body, entityTag(stable, Page{Next: presence(p.Next), Prev: presence(p.Prev)}))
	out.Link = l.link(p)
	return out
}

// listRequest is a list request after the parts that all lists share were read.
type listRequest struct {
	limit   int
	from    *query.Cursor // Nil for the first page.
	now     lifecycle.Micros
	base    lifecycle.Micros // When the first page was asked for.
	binding string
	path    string
	values  url.Values
}

func (a *API) listRequest(ctx context.Context, q PageQuery) (listRequest, error) {
	r := requestOf(ctx)
	l := listRequest{now: a.now(), path: r.URL.EscapedPath(), values: r.URL.Query()}
	l.base, l.binding = l.now, query.Binding(l.path, l.values)
	var wrongLimit, wrongCursor error
	l.limit, wrongLimit = q.Limit.rows()
	if q.Cursor != "" {
		c, err := query.DecodeCursor(q.Cursor, l.binding)
		if err != nil {
			wrongCursor = notOfThisList(err)
		} else {
			l.from, l.base = &c, c.Now
		}
	}
	return l, together(wrongLimit, wrongCursor)
}

// notOfThisList is the problem of a cursor that cannot be used.
func notOfThisList(err error) *httperr.Problem {
	return httperr.New(httperr.InvalidCursor, err).WithField(httperr.QueryPointer("cursor"), "Not a cursor of this list.")
}

// cursor writes the place c for this list; nil gives none.
func (l listRequest) cursor(c *query.Cursor) Text {
	if c == nil {
		return ""
	}
	c.Now = l.base
	return Text(c.Encode(l.binding))
}

// link writes the Link header (RFC 8288) of a page.
func (l listRequest) link(p Page) string {
	var parts []string
	for _, rel := range []struct {
		name   string
		cursor Text
	}{{"next", p.Next}, {"prev", p.Prev}} {
		if rel.cursor == "" {
			continue
		}
		q := url.Values{}
		for name, values := range l.values {
			q[name] = values
		}
		q.Set("cursor", string(rel.cursor))
		parts = append(parts, "<"+l.path+"?"+q.Encode()+`>; rel="`+rel.name+`"`)
	}
	return strings.Join(parts, ", ")
}

// sides are the pages beside one that was read from the list's place: the rows from first to last, behind which more follow in the direction of reading.
func (l listRequest) sides(first, last query.Cursor, more bool) Page {
	first.Backward = true
	backward := l.from != nil && l.from.Backward
	var p Page
	if more || backward {
		p.Next = l.cursor(&last)
	}
	if (more && backward) || (l.from != nil && !backward) {
		p.Prev = l.cursor(&first)
	}
	return p
}

// window cuts one page out of rows that are all at hand, in the order of their places.
func window[T any](l listRequest, rows []T, place func(T) query.Cursor) ([]T, Page) {
	slices.SortStableFunc(rows, func(a, b T) int { return place(a).Compare(place(b)) })
	at, exact := 0, false
	if l.from != nil {
		at, exact = slices.BinarySearchFunc(rows, *l.from, func(row T, c query.Cursor) int { return place(row).Compare(c) })
	}
	return cut(l, rows, at, exact, place)
}

// cut takes the page that a cursor asks for out of ordered rows. at is the first row that is not before the cursor's place, and exact
// says that it is the very row.
func cut[T any](l listRequest, rows []T, at int, exact bool, place func(T) query.Cursor) ([]T, Page) {
	begin, end := 0, min(l.limit, len(rows))
	switch {
	case l.from == nil:
	case l.from.Backward:
		begin, end = max(0, at-l.limit), at
	default:
		begin = at
		if exact {
			begin++
		}
		end = min(begin+l.limit, len(rows))
	}
	page := rows[begin:end]
	var p Page
	if len(page) > 0 && end < len(rows) {
		c := place(page[len(page)-1])
		p.Next = l.cursor(&c)
	}
	if len(page) > 0 && begin > 0 {
		c := place(page[0])
		c.Backward = true
		p.Prev = l.cursor(&c)
	}
	return page, p
}

// reply is an answer with the headers that answers have.
type reply[T any] struct {
	Status       int
	ETag         string `header:"ETag" doc:"Changes when the answer does; for If-None-Match."`
	Link         string `header:"Link" doc:"The following page and the one before (RFC 8288)."`
	CacheControl string `header:"Cache-Control"`
	Body         T
}

// listReply is the reply with one page of a list.
func listReply[T any](ctx context.Context, l listRequest, rows []T, p Page, gaps []GapRef) *reply[List[T]] {
	if rows == nil {
		rows = []T{}
	}
	body := List[T]{Data: rows, Page: p, AsOf: Instant(l.now), Gaps: gaps}
	body.rows, _ = json.Marshal(rows) // What cannot be written is reported when it is.
	// Cursors carry the time of asking.
	out := withTag(ctx, body, entityTag(body.rows, Page{Next: presence(p.Next), Prev: presence(p.Prev)}, gaps))
	out.Link = l.link(p)
	return out
}

// encoded implements [encodedOnce].
func (l List[T]) encoded() (whole any, text []byte, err error) {
	if l.rows == nil {
		return nil, nil, nil
	}
	rest, err := json.Marshal(struct {
		Page Page     `json:"page"`
		AsOf Instant  `json:"as_of"`
		Gaps []GapRef `json:"gaps"`
	}{l.Page, l.AsOf, l.Gaps})
	text = append(append([]byte(`{"data":`), l.rows...), ',')
	return l, append(text, rest[min(1, len(rest)):]...), err
}

func presence(t Text) Text {
	if t == "" {
		return ""
	}
	return "more"
}

// tagged answers 304 when the client has what stable says: the body without what the clock alone changes.
func tagged[T any](ctx context.Context, body, stable T) *reply[T] {
	return withTag(ctx, body, entityTag(stable))
}

// withTag answers 304 when the client has what the tag stands for.
func withTag[T any](ctx context.Context, body T, tag string) *reply[T] {
	out := &reply[T]{Status: http.StatusOK, ETag: tag, CacheControl: "no-cache", Body: body}
	if matches(requestOf(ctx).Header.Values("If-None-Match"), tag) {
		out.Status = http.StatusNotModified
	}
	return out
}
