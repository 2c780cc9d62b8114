package firestoretest

import (
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// transformed is what a field becomes.
func transformed(old *pb.Value, t *pb.DocumentTransform_FieldTransform, at *timestamppb.Timestamp) (*pb.Value, error) {
	switch x := t.GetTransformType().(type) {
	case *pb.DocumentTransform_FieldTransform_SetToServerValue:
		whole := timestamppb.New(at.AsTime().Truncate(time.Millisecond))
		return &pb.Value{ValueType: &pb.Value_TimestampValue{TimestampValue: whole}}, nil
	case *pb.DocumentTransform_FieldTransform_Increment:
		return sum(old, x.Increment), nil
	case *pb.DocumentTransform_FieldTransform_Maximum:
		return extreme(old, x.Maximum, 1), nil
	case *pb.DocumentTransform_FieldTransform_Minimum:
		return extreme(old, x.Minimum, -1), nil
	case *pb.DocumentTransform_FieldTransform_AppendMissingElements:
		out := &pb.ArrayValue{Values: append([]*pb.Value(nil), old.GetArrayValue().GetValues()...)}
		for _, v := range x.AppendMissingElements.GetValues() {
			if !holds(out, v) {
				out.Values = append(out.Values, v)
			}
		}
		return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: out}}, nil
	case *pb.DocumentTransform_FieldTransform_RemoveAllFromArray:
		out := &pb.ArrayValue{}
		for _, v := range old.GetArrayValue().GetValues() {
			if !holds(x.RemoveAllFromArray, v) {
				out.Values = append(out.Values, v)
			}
		}
		return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: out}}, nil
	}
	return nil, status.Error(codes.InvalidArgument, "a transform of no known kind")
}

// sum adds numbers. What is not a number counts as absent.
func sum(old, by *pb.Value) *pb.Value {
	if rank(old) != rankNumber {
		return by
	}
	_, whole := old.GetValueType().(*pb.Value_IntegerValue)
	if _, also := by.GetValueType().(*pb.Value_IntegerValue); whole && also {
		return &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: old.GetIntegerValue() + by.GetIntegerValue()}}
	}
	return &pb.Value{ValueType: &pb.Value_DoubleValue{DoubleValue: number(old) + number(by)}}
}

// extreme keeps the old number where it lies further in the direction.
func extreme(old, v *pb.Value, direction int) *pb.Value {
	if rank(old) == rankNumber && compare(old, v)*direction > 0 {
		return old
	}
	return v
}
