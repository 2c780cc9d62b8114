package masking

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Masker hides what its rules name. Nil hides nothing. It is safe for concurrent use.
type Masker struct {
	builtIn bool
	fields  []*regexp.Regexp
	paths   []path
	forms   []form

	follows func() *Masker // Whose rules are in force; nil for its own.
}

// Following returns a masker that hides what another one hides, which it asks for at every call: rules may change meanwhile.
func Following(rules func() *Masker) *Masker { return &Masker{follows: rules} }

// inForce is the masker whose rules count now.
func (m *Masker) inForce() *Masker {
	if m == nil || m.follows == nil {
		return m
	}
	return m.follows()
}

// Text hides what has the form of a token in a text.
func (m *Masker) Text(text string) string {
	m = m.inForce()
	for _, shape := range m.shapesIn(text) {
		text = shape.ReplaceAllLiteralString(text, Placeholder)
	}
	return text
}

// Bytes is [Masker.Text] for bytes. It returns the same bytes where nothing is hidden.
func (m *Masker) Bytes(text []byte) []byte {
	m = m.inForce()
	for _, shape := range m.shapesIn(string(text)) {
		if shape.Match(text) {
			text = shape.ReplaceAllLiteral(text, []byte(Placeholder))
		}
	}
	return text
}

// Answer hides what has the form of a token in the texts of an answer in JSON, and leaves its fields alone: they are ours.
func (m *Masker) Answer(answer []byte) []byte {
	m = m.inForce()
	found := func(shape *regexp.Regexp) bool { return shape.Match(answer) }
	if !slices.ContainsFunc(m.shapesIn(string(answer)), found) {
		return answer
	}
	w := writer{mask: &Masker{forms: m.forms}, in: json.NewDecoder(bytes.NewReader(answer)), html: true}
	w.in.UseNumber()
	if err := w.value(false); err != nil {
		return m.Bytes(answer)
	}
	return append(w.out.Bytes(), '\n')
}

// HTML hides what has the form of a token in a page. What would reach over a tag, an attribute or an entity stays.
func (m *Masker) HTML(page []byte) []byte {
	m = m.inForce()
	for _, shape := range m.shapesIn(string(page)) {
		page = shape.ReplaceAllFunc(page, func(found []byte) []byte {
			if bytes.ContainsAny(found, `<>"'&`) {
				return found
			}
			return []byte(Placeholder)
		})
	}
	return page
}

// shapesIn are the forms that may occur in a text.
func (m *Masker) shapesIn(text string) []*regexp.Regexp {
	if m == nil {
		return nil
	}
	var shapes []*regexp.Regexp
	for _, f := range m.forms {
		if f.mayOccur(text) {
			shapes = append(shapes, f.shape)
		}
	}
	return shapes
}

// field reports whether the values of fields and headers of that name are hidden.
func (m *Masker) field(name string) bool {
	if m.builtIn && secretField.MatchString(name) {
		return true
	}
	for _, f := range m.fields {
		if f.MatchString(name) {
			return true
		}
	}
	return false
}

// Header is the value of a header as it may be shown.
func (m *Masker) Header(name, value string) string {
	m = m.inForce()
	switch {
	case m == nil:
		return value
	case m.field(name):
		return Placeholder
	}
	return m.Text(value)
}

// Headers are all values of headers as they may be shown, in a map of their own.
func (m *Masker) Headers(headers map[string][]string) map[string][]string {
	m = m.inForce()
	if m == nil || headers == nil {
		return headers
	}
	out := make(map[string][]string, len(headers))
	for name, values := range headers {
		shown := make([]string, len(values))
		for i, v := range values {
			shown[i] = m.Header(name, v)
		}
		out[name] = shown
	}
	return out
}

// Body is a message's body as it may be shown. JSON keeps its order, and where nothing is hidden its spelling. What is not JSON, or cut off, is masked as
// text: values behind names of hidden fields, and forms of tokens.
func (m *Masker) Body(body []byte) []byte { return m.inForce().value(nil, body) }

// At is a value at a place in a body, given as a JSON pointer (RFC 6901), as it may be shown.
func (m *Masker) At(pointer string, value []byte) []byte {
	m = m.inForce()
	if m == nil || len(value) == 0 {
		return value
	}
	var place []string
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		if step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step); step != "" {
			place = append(place, step)
		}
		if m.hides(place) && !bytes.Equal(value, []byte("null")) {
			return []byte(`"` + Placeholder + `"`)
		}
	}
	return m.value(place, value)
}

// hides reports whether what is at a place is hidden whole.
func (m *Masker) hides(place []string) bool {
	if len(place) == 0 {
		return false
	}
	if m.field(place[len(place)-1]) {
		return true
	}
	for _, p := range m.paths {
		if p.matches(place) {
			return true
		}
	}
	return false
}

func (m *Masker) value(place []string, body []byte) []byte {
	if m == nil || len(body) == 0 {
		return body
	}
	w := writer{mask: m, in: json.NewDecoder(bytes.NewReader(body)), place: place}
	w.in.UseNumber()
	err := w.value(false)
	if err == nil {
		if _, err = w.in.Token(); errors.Is(err, io.EOF) {
			if !w.hid {
				return body
			}
			return w.out.Bytes()
		}
	}
	return m.plain(body)
}

// writer copies a JSON value, token by token, and hides parts of it.
type writer struct {
	mask  *Masker
	in    *json.Decoder
	out   bytes.Buffer
	place []string
	hid   bool
	html  bool // Escape what HTML would take for more than text.
	deep  int
}

// maxDepth is how deep values may be nested; what is deeper is masked as text.
const maxDepth = 1000

var errDeep = errors.New("nested too deeply")

// value copies the next value, or reads it over where it is hidden.
func (w *writer) value(hidden bool) error {
	token, err := w.in.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case json.Delim:
		if w.deep++; w.deep > maxDepth {
			return errDeep
		}
		defer func() { w.deep-- }()
		if hidden {
			w.hide()
			return w.skip()
		}
		if t == '[' {
			return w.list()
		}
		return w.object()
	case nil, bool:
		return w.write(t)
	default:
		if hidden {
			w.hide()
			return nil
		}
		return w.scalar(t)
	}
}

// scalar copies a text or a number.
func (w *writer) scalar(v any) error {
	text, isText := v.(string)
	if !isText {
		return w.write(v)
	}
	shown := w.mask.Text(text)
	w.hid = w.hid || shown != text
	return w.write(shown)
}

func (w *writer) hide() {
	w.hid = true
	w.out.WriteString(`"` + Placeholder + `"`)
}

func (w *writer) write(v any) error {
	encoder := json.NewEncoder(&w.out)
	encoder.SetEscapeHTML(w.html)
	err := encoder.Encode(v)
	w.out.Truncate(max(0, w.out.Len()-1)) // Without the new line.
	return err
}

// skip reads to the end of a list or an object that has begun.
func (w *writer) skip() error {
	for depth := 1; depth > 0; {
		token, err := w.in.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('['), json.Delim('{'):
			depth++
		case json.Delim(']'), json.Delim('}'):
			depth--
		}
	}
	return nil
}

func (w *writer) list() error {
	w.out.WriteByte('[')
	for i := 0; w.in.More(); i++ {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.element(strconv.Itoa(i)); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	_, err := w.in.Token()
	return err
}

func (w *writer) object() error {
	w.out.WriteByte('{')
	for i := 0; w.in.More(); i++ {
		name, err := w.in.Token()
		if err != nil {
			return err
		}
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.scalar(name); err != nil {
			return err
		}
		w.out.WriteByte(':')
		if err := w.element(name.(string)); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	_, err := w.in.Token()
	return err
}

// element copies a value of a list or an object.
func (w *writer) element(step string) error {
	w.place = append(w.place, step)
	defer func() { w.place = w.place[:len(w.place)-1] }()
	return w.value(w.mask.hides(w.place))
}
