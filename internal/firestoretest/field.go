package firestoretest

import (
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// nameField is the pseudo field that stands for a document's name.
const nameField = "__name__"

// splitField takes a field path apart. Elements with odd characters stand between backquotes.
func splitField(path string) []string {
	var elements []string
	var element strings.Builder
	quoted := false
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '`':
			quoted = !quoted
		case c == '\\' && quoted && i+1 < len(path):
			i++
			element.WriteByte(path[i])
		case c == '.' && !quoted:
			elements = append(elements, element.String())
			element.Reset()
		default:
			element.WriteByte(c)
		}
	}
	return append(elements, element.String())
}

// fieldOf is the value at a field path; nil where there is none.
func fieldOf(doc *pb.Document, path string) *pb.Value {
	if path == nameField {
		return &pb.Value{ValueType: &pb.Value_ReferenceValue{ReferenceValue: doc.GetName()}}
	}
	elements := splitField(path)
	fields := doc.GetFields()
	for _, e := range elements[:len(elements)-1] {
		fields = fields[e].GetMapValue().GetFields()
	}
	return fields[elements[len(elements)-1]]
}

// setField puts a value at a field path, making the maps on the way; nil removes it. The document must not be shared.
func setField(doc *pb.Document, path string, v *pb.Value) {
	if doc.Fields == nil {
		doc.Fields = map[string]*pb.Value{}
	}
	elements := splitField(path)
	fields := doc.Fields
	for _, e := range elements[:len(elements)-1] {
		inner := fields[e].GetMapValue()
		if inner == nil {
			if v == nil {
				return
			}
			inner = &pb.MapValue{}
			fields[e] = &pb.Value{ValueType: &pb.Value_MapValue{MapValue: inner}}
		}
		if inner.Fields == nil {
			inner.Fields = map[string]*pb.Value{}
		}
		fields = inner.Fields
	}
	last := elements[len(elements)-1]
	if v == nil {
		delete(fields, last)
		return
	}
	fields[last] = v
}
