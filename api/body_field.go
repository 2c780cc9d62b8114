package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"fleetglass/internal/httperr"
)

// wrongFields are the parts of a body that do not fit a type, each by its JSON pointer, in the order of their names. The pointer is empty where the whole does
// not fit.
func wrongFields(at string, sent json.RawMessage, typ reflect.Type) []httperr.FieldError {
	switch {
	case string(bytes.TrimSpace(sent)) == "null":
		return nil
	case structOf(typ) != nil:
		return wrongMembers(at, sent, fieldsOf(typ))
	case isList(typ):
		return wrongElements(at, sent, typ.Elem())
	}
	return misfit(at, json.Unmarshal(sent, reflect.New(typ).Interface()))
}

func wrongMembers(at string, sent json.RawMessage, fields map[string]reflect.Type) (wrong []httperr.FieldError) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(sent, &object); err != nil {
		return misfit(at, err)
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		below := at + "/" + httperr.Token(name)
		if field, has := fields[strings.ToLower(name)]; has {
			wrong = append(wrong, wrongFields(below, object[name], field)...)
		} else {
			wrong = append(wrong, httperr.FieldError{Pointer: below, Detail: "is not a field of this call"})
		}
	}
	return wrong
}

func wrongElements(at string, sent json.RawMessage, typ reflect.Type) (wrong []httperr.FieldError) {
	var list []json.RawMessage
	if err := json.Unmarshal(sent, &list); err != nil {
		return misfit(at, err)
	}
	for i, element := range list {
		wrong = append(wrong, wrongFields(at+"/"+strconv.Itoa(i), element, typ)...)
	}
	return wrong
}

// misfit says of a value that was not decoded what it must not be. The decoder names that of one with another type.
func misfit(at string, err error) []httperr.FieldError {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return []httperr.FieldError{{Pointer: at, Detail: "must not be a JSON " + wrong.Value}}
	}
	return []httperr.FieldError{{Pointer: at, Detail: "cannot be read"}}
}

// isList reports whether JSON is decoded into a type element by element.
func isList(typ reflect.Type) bool {
	return typ.Kind() == reflect.Slice && typ.Elem().Kind() != reflect.Uint8 && !reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// fieldsOf gives the fields of a struct by their lower-case names in JSON: the decoder takes any case. Nil for what is no struct.
func fieldsOf(typ reflect.Type) map[string]reflect.Type {
	if typ = structOf(typ); typ == nil {
		return nil
	}
	fields := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(typ) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[strings.ToLower(name)] = f.Type
	}
	return fields
}

// structOf is the struct that JSON is decoded into field by field; nil for every other type.
func structOf(typ reflect.Type) reflect.Type {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || reflect.PointerTo(typ).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	return typ
}
