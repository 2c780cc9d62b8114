package firestoretest

import (
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/proto"
)

// query is a structured query below a parent, with its order made explicit.
type query struct {
	parent string
	from   []*pb.StructuredQuery_CollectionSelector
	text   *pb.StructuredQuery
	orders []order
}

// order is one field that results are ordered by.
type order struct {
	field string
	desc  bool
}

func newQuery(parent string, text *pb.StructuredQuery) query {
	return query{parent: parent, from: text.GetFrom(), text: text, orders: ordersOf(text)}
}

// ordersOf adds what a query implies: fields compared by order, then the name.
func ordersOf(text *pb.StructuredQuery) []order {
	var out []order
	desc := false
	add := func(field string) {
		if !slices.ContainsFunc(out, func(o order) bool { return o.field == field }) {
			out = append(out, order{field, desc})
		}
	}
	for _, o := range text.GetOrderBy() {
		desc = o.GetDirection() == pb.StructuredQuery_DESCENDING
		add(o.GetField().GetFieldPath())
	}
	_, ordered := comparedFields(text.GetWhere())
	slices.Sort(ordered)
	for _, field := range ordered {
		if field != nameField {
			add(field)
		}
	}
	add(nameField)
	return out
}

// run returns the result as of a version.
func (q query) run(h *history, version int) []*pb.Document {
	var out []*pb.Document
	for name := range h.docs {
		if doc := h.at(name, version); doc != nil && q.selects(doc) {
			out = append(out, doc)
		}
	}
	slices.SortFunc(out, q.compare)
	out = out[min(len(out), int(q.text.GetOffset())):]
	if limit := q.text.GetLimit(); limit != nil {
		out = out[:min(len(out), int(limit.GetValue()))]
	}
	if wanted := q.text.GetSelect(); wanted != nil {
		for i, doc := range out {
			out[i] = project(doc, wanted)
		}
	}
	return out
}

func (q query) selects(doc *pb.Document) bool {
	if !q.covers(doc.GetName()) || !matches(doc, q.text.GetWhere()) {
		return false
	}
	if slices.ContainsFunc(q.orders, func(o order) bool { return fieldOf(doc, o.field) == nil }) {
		return false
	}
	if start := q.text.GetStartAt(); start != nil {
		if c := q.compareCursor(doc, start); c < 0 || (c == 0 && !start.GetBefore()) {
			return false
		}
	}
	if end := q.text.GetEndAt(); end != nil {
		if c := q.compareCursor(doc, end); c > 0 || (c == 0 && end.GetBefore()) {
			return false
		}
	}
	return true
}

// covers reports whether the document lies in one of the query's collections.
func (q query) covers(name string) bool {
	rest, below := strings.CutPrefix(name, q.parent+"/")
	if !below {
		return false
	}
	elements := strings.Split(rest, "/")
	return len(q.from) == 0 || slices.ContainsFunc(q.from, func(c *pb.StructuredQuery_CollectionSelector) bool {
		if c.GetAllDescendants() {
			return c.GetCollectionId() == "" || elements[len(elements)-2] == c.GetCollectionId()
		}
		return len(elements) == 2 && elements[0] == c.GetCollectionId()
	})
}

func (q query) compare(a, b *pb.Document) int {
	for _, o := range q.orders {
		if c := o.compare(fieldOf(a, o.field), fieldOf(b, o.field)); c != 0 {
			return c
		}
	}
	return 0
}

// compareCursor compares a document with a cursor, which may name fewer fields than the query orders by.
func (q query) compareCursor(doc *pb.Document, cursor *pb.Cursor) int {
	for i, v := range cursor.GetValues() {
		if i == len(q.orders) {
			break
		}
		if c := q.orders[i].compare(fieldOf(doc, q.orders[i].field), v); c != 0 {
			return c
		}
	}
	return 0
}

func (o order) compare(a, b *pb.Value) int {
	if o.desc {
		return compare(b, a)
	}
	return compare(a, b)
}

// project returns a copy with the wanted fields only.
func project(doc *pb.Document, wanted *pb.StructuredQuery_Projection) *pb.Document {
	out := &pb.Document{Name: doc.GetName(), CreateTime: doc.GetCreateTime(), UpdateTime: doc.GetUpdateTime()}
	for _, f := range wanted.GetFields() {
		if v := fieldOf(doc, f.GetFieldPath()); v != nil && f.GetFieldPath() != nameField {
			setField(out, f.GetFieldPath(), proto.CloneOf(v))
		}
	}
	return out
}
