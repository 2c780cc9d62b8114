package firestoretest

import (
	"math"
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// matches reports whether a filter selects the document. No filter selects everything.
func matches(doc *pb.Document, f *pb.StructuredQuery_Filter) bool {
	switch t := f.GetFilterType().(type) {
	case *pb.StructuredQuery_Filter_CompositeFilter:
		return matchesComposite(doc, t.CompositeFilter)
	case *pb.StructuredQuery_Filter_UnaryFilter:
		return matchesUnary(fieldOf(doc, t.UnaryFilter.GetField().GetFieldPath()), t.UnaryFilter.GetOp())
	case *pb.StructuredQuery_Filter_FieldFilter:
		v := fieldOf(doc, t.FieldFilter.GetField().GetFieldPath())
		return v != nil && matchesField(v, t.FieldFilter.GetOp(), t.FieldFilter.GetValue())
	}
	return true
}

func matchesComposite(doc *pb.Document, f *pb.StructuredQuery_CompositeFilter) bool {
	holds := func(x *pb.StructuredQuery_Filter) bool { return matches(doc, x) }
	if f.GetOp() == pb.StructuredQuery_CompositeFilter_OR {
		return slices.ContainsFunc(f.GetFilters(), holds)
	}
	return !slices.ContainsFunc(f.GetFilters(), func(x *pb.StructuredQuery_Filter) bool { return !holds(x) })
}

func matchesUnary(v *pb.Value, op pb.StructuredQuery_UnaryFilter_Operator) bool {
	null := rank(v) == rankNull
	nan := rank(v) == rankNumber && math.IsNaN(number(v))
	switch op {
	case pb.StructuredQuery_UnaryFilter_IS_NULL:
		return null
	case pb.StructuredQuery_UnaryFilter_IS_NOT_NULL:
		return v != nil && !null
	case pb.StructuredQuery_UnaryFilter_IS_NAN:
		return nan
	case pb.StructuredQuery_UnaryFilter_IS_NOT_NAN:
		return v != nil && !null && !nan
	}
	return false
}

// matchesField compares only values of one type, as indexes do.
func matchesField(v *pb.Value, op pb.StructuredQuery_FieldFilter_Operator, with *pb.Value) bool {
	same, c := rank(v) == rank(with), compare(v, with)
	switch op {
	case pb.StructuredQuery_FieldFilter_EQUAL:
		return c == 0
	case pb.StructuredQuery_FieldFilter_NOT_EQUAL:
		return c != 0 && rank(v) != rankNull
	case pb.StructuredQuery_FieldFilter_LESS_THAN:
		return same && c < 0
	case pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL:
		return same && c <= 0
	case pb.StructuredQuery_FieldFilter_GREATER_THAN:
		return same && c > 0
	case pb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL:
		return same && c >= 0
	case pb.StructuredQuery_FieldFilter_IN:
		return holds(with.GetArrayValue(), v)
	case pb.StructuredQuery_FieldFilter_NOT_IN:
		return rank(v) != rankNull && !holds(with.GetArrayValue(), v)
	case pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS:
		return holds(v.GetArrayValue(), with)
	case pb.StructuredQuery_FieldFilter_ARRAY_CONTAINS_ANY:
		return slices.ContainsFunc(with.GetArrayValue().GetValues(), func(x *pb.Value) bool { return holds(v.GetArrayValue(), x) })
	}
	return false
}

// comparedFields lists the fields of a filter: those compared for equality, and those compared by order.
func comparedFields(f *pb.StructuredQuery_Filter) (equal, ordered []string) {
	switch t := f.GetFilterType().(type) {
	case *pb.StructuredQuery_Filter_CompositeFilter:
		for _, inner := range t.CompositeFilter.GetFilters() {
			e, o := comparedFields(inner)
			equal, ordered = append(equal, e...), append(ordered, o...)
		}
	case *pb.StructuredQuery_Filter_UnaryFilter:
		equal = append(equal, t.UnaryFilter.GetField().GetFieldPath())
	case *pb.StructuredQuery_Filter_FieldFilter:
		path := t.FieldFilter.GetField().GetFieldPath()
		if ordersBy(t.FieldFilter.GetOp()) {
			return nil, []string{path}
		}
		equal = append(equal, path)
	}
	return equal, ordered
}

func ordersBy(op pb.StructuredQuery_FieldFilter_Operator) bool {
	switch op {
	case pb.StructuredQuery_FieldFilter_LESS_THAN, pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL,
		pb.StructuredQuery_FieldFilter_GREATER_THAN, pb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL,
		pb.StructuredQuery_FieldFilter_NOT_EQUAL, pb.StructuredQuery_FieldFilter_NOT_IN:
		return true
	}
	return false
}
