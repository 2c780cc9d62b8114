package api

import (
	_ "embed" // The page and its style.
	"encoding/json"
	"html/template"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/internal/httperr"
)

//go:embed docs.html
var docsHTML string

//go:embed docs.css
var docsStyle string

// docsTemplate is the human page. It has no script and no inline style: the strictest policy serves it.
func docsTemplate() *template.Template {
	return template.Must(template.New("docs").Parse(docsHTML))
}

// docs is the OpenAPI document as the page shows it.
type docs struct {
	Title, Version string
	Text           []string // Paragraphs.
	Groups         []docsGroup
	Schemas        []docsSchema
	Problems       []httperr.Entry
}

type docsGroup struct {
	Name, Text string
	Calls      []docsCall
}

type docsCall struct {
	ID, Method, Path, Summary, Text string
	Needs                           string // The scope.
	Parameters                      []docsField
	Bodies                          []docsBody
	Responses                       []docsResponse
}

type docsResponse struct {
	Status, Text string
	Bodies       []docsBody
}

type docsBody struct {
	MediaType, Type, Link, Example string
}

type docsSchema struct {
	Name   string
	Fields []docsField
}

type docsField struct {
	Name, In, Type, Link, Text string
	Required                   bool
}

func docsOf(spec *huma.OpenAPI) docs {
	d := docs{
		Title: spec.Info.Title, Version: spec.Info.Version, Problems: httperr.Table(), Text: strings.Split(spec.Info.Description, "\n\n"),
	}
	calls := map[string][]docsCall{}
	for _, path := range slices.Sorted(maps.Keys(spec.Paths)) {
		for _, op := range []*huma.Operation{spec.Paths[path].Get, spec.Paths[path].Post, spec.Paths[path].Delete} {
			if op != nil {
				calls[op.Tags[0]] = append(calls[op.Tags[0]], docsCallOf(op))
			}
		}
	}
	for _, tag := range spec.Tags {
		d.Groups = append(d.Groups, docsGroup{tag.Name, tag.Description, calls[tag.Name]})
	}
	schemas := spec.Components.Schemas.Map()
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		d.Schemas = append(d.Schemas, docsSchema{name, docsFields(schemas[name])})
	}
	return d
}

func docsCallOf(op *huma.Operation) docsCall {
	c := docsCall{ID: op.OperationID, Method: op.Method, Path: op.Path, Summary: op.Summary, Text: op.Description, Needs: string(scopeOf(op))}
	for _, p := range op.Parameters {
		f := docsField{Name: p.Name, In: p.In, Text: p.Description, Required: p.Required}
		f.Type, f.Link = docsType(p.Schema)
		c.Parameters = append(c.Parameters, f)
	}
	if op.RequestBody != nil {
		c.Bodies = docsBodies(op.RequestBody.Content)
	}
	for _, status := range slices.Sorted(maps.Keys(op.Responses)) {
		r := op.Responses[status]
		c.Responses = append(c.Responses, docsResponse{status, r.Description, docsBodies(r.Content)})
	}
	return c
}

func docsBodies(content map[string]*huma.MediaType) []docsBody {
	var out []docsBody
	for _, name := range slices.Sorted(maps.Keys(content)) {
		m := content[name]
		b := docsBody{MediaType: name, Example: docsExample(m.Example)}
		if m.Schema != nil {
			b.Type, b.Link = docsType(m.Schema)
		}
		if len(m.Examples) > 0 {
			b.Type = strings.Join(slices.Sorted(maps.Keys(m.Examples)), ", ")
			b.Link = ""
		}
		out = append(out, b)
	}
	return out
}

func docsExample(example any) string {
	if text, ok := example.(string); ok || example == nil {
		return text
	}
	b, err := json.MarshalIndent(example, "", "  ")
	if err != nil {
		return ""
	}
	return string(b)
}

func docsFields(s *huma.Schema) []docsField {
	var out []docsField
	for name, property := range s.Properties {
		f := docsField{Name: name, Text: property.Description}
		f.Type, f.Link = docsType(property)
		out = append(out, f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// docsType names a type, and the schema that explains it.
func docsType(s *huma.Schema) (text, link string) {
	if s == nil {
		return "", ""
	}
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return name, name
	case len(s.AnyOf) > 0:
		text, link = docsType(s.AnyOf[0])
		return text + " or null", link
	case len(s.OneOf) > 0:
		text, link = docsType(s.OneOf[0])
		return text + ", or a list", link
	case s.Type == huma.TypeArray:
		text, link = docsType(s.Items)
		return "list of " + text, link
	}
	text = s.Type
	if s.Format != "" {
		text += " (" + s.Format + ")"
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			if value, ok := v.(string); ok {
				values = append(values, value)
			}
		}
		text += ": " + strings.Join(values, ", ")
	}
	if s.Nullable {
		text += " or null"
	}
	return text, ""
}
