package firestoretest

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// The ranks of the types of values: values of different types are ordered by type alone.
const (
	rankMissing = iota
	rankNull
	rankBoolean
	rankNumber
	rankTimestamp
	rankText
	rankBytes
	rankReference
	rankPlace
	rankArray
	rankMap
)

func rank(v *pb.Value) int {
	switch v.GetValueType().(type) {
	case *pb.Value_NullValue:
		return rankNull
	case *pb.Value_BooleanValue:
		return rankBoolean
	case *pb.Value_IntegerValue, *pb.Value_DoubleValue:
		return rankNumber
	case *pb.Value_TimestampValue:
		return rankTimestamp
	case *pb.Value_StringValue:
		return rankText
	case *pb.Value_BytesValue:
		return rankBytes
	case *pb.Value_ReferenceValue:
		return rankReference
	case *pb.Value_GeoPointValue:
		return rankPlace
	case *pb.Value_ArrayValue:
		return rankArray
	case *pb.Value_MapValue:
		return rankMap
	}
	return rankMissing
}

// compare orders two values as Firestore does: by type, then by value.
func compare(a, b *pb.Value) int {
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch rank(a) {
	case rankBoolean:
		return cmp.Compare(truth(a), truth(b))
	case rankNumber:
		return compareNumbers(a, b)
	case rankTimestamp:
		return a.GetTimestampValue().AsTime().Compare(b.GetTimestampValue().AsTime())
	case rankText:
		return strings.Compare(a.GetStringValue(), b.GetStringValue())
	case rankBytes:
		return bytes.Compare(a.GetBytesValue(), b.GetBytesValue())
	case rankReference:
		return comparePaths(a.GetReferenceValue(), b.GetReferenceValue())
	case rankPlace:
		x, y := a.GetGeoPointValue(), b.GetGeoPointValue()
		return cmp.Or(cmp.Compare(x.GetLatitude(), y.GetLatitude()), cmp.Compare(x.GetLongitude(), y.GetLongitude()))
	case rankArray:
		return slices.CompareFunc(a.GetArrayValue().GetValues(), b.GetArrayValue().GetValues(), compare)
	case rankMap:
		return compareMaps(a.GetMapValue().GetFields(), b.GetMapValue().GetFields())
	}
	return 0
}

func truth(v *pb.Value) int {
	if v.GetBooleanValue() {
		return 1
	}
	return 0
}

// compareNumbers compares integers exactly; NaN is the least number.
func compareNumbers(a, b *pb.Value) int {
	x, whole := a.GetValueType().(*pb.Value_IntegerValue)
	y, alsoWhole := b.GetValueType().(*pb.Value_IntegerValue)
	if whole && alsoWhole {
		return cmp.Compare(x.IntegerValue, y.IntegerValue)
	}
	return cmp.Compare(number(a), number(b))
}

func number(v *pb.Value) float64 {
	if d, ok := v.GetValueType().(*pb.Value_DoubleValue); ok {
		return d.DoubleValue
	}
	return float64(v.GetIntegerValue())
}

// comparePaths compares element by element: a slash is less than every character.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/"))
}

func compareMaps(a, b map[string]*pb.Value) int {
	names, others := slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))
	for i := range min(len(names), len(others)) {
		if c := cmp.Or(strings.Compare(names[i], others[i]), compare(a[names[i]], b[others[i]])); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(names), len(others))
}

// holds reports whether an array has an element equal to v.
func holds(array *pb.ArrayValue, v *pb.Value) bool {
	return slices.ContainsFunc(array.GetValues(), func(x *pb.Value) bool { return compare(x, v) == 0 })
}
