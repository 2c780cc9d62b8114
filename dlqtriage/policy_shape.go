package dlqtriage

import (
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// shape complains about keys that typ does not have and about values of another form. It goes through all of the file, where the decoder
// stops at the first.
func (c *complaints) shape(node ast.Node, typ reflect.Type, path string) {
	if anchor, ok := node.(*ast.AnchorNode); ok {
		node = anchor.Value
	}
	switch node.(type) {
	case nil, *ast.NullNode, *ast.AliasNode:
		return
	}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch typ.Kind() {
	case reflect.Struct, reflect.Map:
		c.mapping(node, typ, path)
	case reflect.Slice:
		c.sequence(node, typ, path)
	default:
		if want := scalar(node, typ.Kind()); want != "" {
			c.complain(node, "%s: want %s", settingName(path), want)
		}
	}
}

func (c *complaints) mapping(node ast.Node, typ reflect.Type, path string) {
	entries, ok := node.(ast.MapNode)
	if !ok {
		c.complain(node, "%s: want a mapping", settingName(path))
		return
	}
	for i := entries.MapRange(); i.Next(); {
		key := i.Key().String()
		if typ.Kind() == reflect.Map {
			c.shape(i.Value(), typ.Elem(), path+"."+key)
			continue
		}
		field, known := fieldNamed(typ, key)
		if !known {
			c.complain(i.Key(), "%s has no setting %q", settingName(path), key)
			continue
		}
		c.shape(i.Value(), field.Type, path+"."+key)
	}
}

func (c *complaints) sequence(node ast.Node, typ reflect.Type, path string) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		c.complain(node, "%s: want a list", settingName(path))
		return
	}
	for i, item := range list.Values {
		c.shape(item, typ.Elem(), path+"["+strconv.Itoa(i)+"]")
	}
}

// scalar says what a value should be; empty when it is that.
func scalar(node ast.Node, kind reflect.Kind) string {
	var ok bool
	var want string
	switch kind {
	case reflect.Int, reflect.Int64:
		_, ok = node.(*ast.IntegerNode)
		want = "a whole number"
	case reflect.Float64:
		_, whole := node.(*ast.IntegerNode)
		_, broken := node.(*ast.FloatNode)
		ok, want = whole || broken, "a number"
	case reflect.Bool:
		_, ok = node.(*ast.BoolNode)
		want = "true or false"
	default:
		_, ok = node.(ast.ScalarNode)
		want = "a text"
	}
	if ok {
		return ""
	}
	return want
}

func (c *complaints) complain(node ast.Node, format string, args ...any) {
	line := 0
	if t := node.GetToken(); t != nil {
		line = t.Position.Line
	}
	c.complainAt(line, format, args...)
}

func fieldNamed(typ reflect.Type, key string) (reflect.StructField, bool) {
	for i := range typ.NumField() {
		tag, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
		if tag != "" && tag == key {
			return typ.Field(i), true
		}
	}
	return reflect.StructField{}, false
}

// settingName is a path as people read it.
func settingName(path string) string {
	if path == "$" {
		return "the policy"
	}
	return strings.TrimPrefix(path, "$.")
}
