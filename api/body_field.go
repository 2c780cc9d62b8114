package api

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"fleetglass/internal/httperr"
)

// wrongField says which field of a body was not decoded, as a JSON pointer into it, and why; no pointer where none is to blame.
func wrongField(err error, body []byte, typ reflect.Type) (pointer, detail string) {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return misfit(strings.Split(wrong.Field, "."), typ), "must not be a JSON " + wrong.Value
	}
	var sent any
	if json.Unmarshal(body, &sent) != nil {
		return "", ""
	}
	return unknownField(sent, typ), "is not a field of this call"
}

// misfit is the pointer to a field by its names. Within a list it ends at the list: the decoder does not say at which place.
func misfit(names []string, typ reflect.Type) string {
	field, has := fieldsOf(typ)[strings.ToLower(names[0])]
	at := "/" + httperr.Token(names[0])
	if !has || len(names) == 1 || structOf(field) == nil {
		return at
	}
	return at + misfit(names[1:], field)
}

// unknownField is the pointer to the first field, by name, that the type does not have.
func unknownField(sent any, typ reflect.Type) string {
	object, isObject := sent.(map[string]any)
	fields := fieldsOf(typ)
	if fields == nil || !isObject {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := "/" + httperr.Token(name)
		field, has := fields[strings.ToLower(name)]
		if !has {
			return at
		}
		if below := unknownField(object[name], field); below != "" {
			return at + below
		}
	}
	return ""
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
