package views

import (
	"bytes"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// TextOf shows bytes as text when they are mostly text, with what cannot be printed replaced; else as a hexadecimal dump.
func TextOf(b []byte) string {
	if looksBinary(b) {
		return hex.Dump(b[:min(len(b), 4096)])
	}
	lines := strings.Split(strings.ReplaceAll(string(b), "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.ReplaceAll(Printable(strings.ReplaceAll(l, "\t", "    ")), "\u2409", "    ")
	}
	return strings.Join(lines, "\n")
}

func looksBinary(b []byte) bool {
	sample := b[:min(len(b), 2048)]
	bad := bytes.Count(sample, []byte{0})
	for i := 0; i < len(sample); {
		r, n := utf8.DecodeRune(sample[i:])
		if r == utf8.RuneError && n == 1 && i < len(sample)-utf8.UTFMax {
			bad++
		}
		i += n
	}
	return bad > len(sample)/10
}

// PrettyJSON indents JSON without parsing it, and stops once about limit bytes are written; more reports that it did. What is not
// JSON comes out as text. It never looks at more of the body than it writes, so that a payload of any size costs the same.
func PrettyJSON(body []byte, limit int) (text string, more bool) {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 || (trimmed[0] != '{' && trimmed[0] != '[') || looksBinary(trimmed) {
		return TextOf(body[:min(len(body), limit)]), len(body) > limit
	}
	p := indenter{limit: limit}
	for i, c := range trimmed {
		if p.out.Len() >= limit {
			return TextOf([]byte(p.out.String())), len(bytes.TrimRight(trimmed[i:], " \t\r\n")) > 0
		}
		p.put(c)
	}
	return TextOf([]byte(p.out.String())), false
}

// maxIndent bounds the indentation of deeply nested JSON.
const maxIndent = 40

type indenter struct {
	out     strings.Builder
	limit   int
	depth   int
	quoted  bool
	escaped bool
	opened  bool // The last byte written opened an object or array.
}

func (p *indenter) put(c byte) {
	if p.quoted {
		p.out.WriteByte(c)
		switch {
		case p.escaped:
			p.escaped = false
		case c == '\\':
			p.escaped = true
		case c == '"':
			p.quoted = false
		}
		return
	}
	switch c {
	case ' ', '\t', '\r', '\n':
		return
	case '}', ']':
		p.depth = max(0, p.depth-1)
		if !p.opened {
			p.line()
		}
		p.opened = false
		p.out.WriteByte(c)
		return
	}
	if p.opened {
		p.line()
		p.opened = false
	}
	p.out.WriteByte(c)
	switch c {
	case '"':
		p.quoted = true
	case '{', '[':
		p.depth++
		p.opened = true
	case ',':
		p.line()
	case ':':
		p.out.WriteByte(' ')
	}
}

func (p *indenter) line() {
	p.out.WriteByte('\n')
	for range min(p.depth, maxIndent) {
		p.out.WriteString("  ")
	}
}
