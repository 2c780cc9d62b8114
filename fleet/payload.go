package fleet

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// payloadFields is what [ReadTask] looks for in a JSON body.
type payloadFields struct {
	taskID, taskType, version, createdAt, title string
}

// titleKeys are the fields that may hold a human name, best first. Those inside payload come before those beside it.
var titleKeys = []string{"title", "name", "topic", "subject", "headline", "summary", "goal", "description", "instructions", "prompt"}

// readPayload finds the fields in a body that is a JSON object. It walks the bytes once, looks only at scalars on the top level and
// directly inside "payload", and skips everything else without allocating, whatever its depth. A body that breaks off or turns
// out not to be JSON yields what was read before that. Where a name occurs twice the last one counts, as in most JSON readers.
func readPayload(body []byte) payloadFields {
	var p payloadFields
	inner, outer := len(titleKeys), len(titleKeys)
	var innerTitle, outerTitle string
	s := scanner{rest: bytes.TrimPrefix(body, []byte("\ufeff"))}
	s.object(func(name []byte, v *scanner) {
		switch string(name) {
		case "payload":
			v.object(func(name []byte, v *scanner) { keepTitle(name, v, &inner, &innerTitle) })
		case "taskId":
			set(&p.taskID, v)
		case "type":
			set(&p.taskType, v)
		case "version":
			set(&p.version, v)
		case "createdAt":
			set(&p.createdAt, v)
		default:
			keepTitle(name, v, &outer, &outerTitle)
		}
	})
	p.title = firstNonEmpty(innerTitle, outerTitle)
	return p
}

func set(field *string, v *scanner) {
	if text, ok := v.scalar(); ok {
		*field = text
	}
}

// keepTitle keeps the text of the best-ranked title field seen so far.
func keepTitle(name []byte, v *scanner, best *int, title *string) {
	for rank, key := range titleKeys {
		if rank > *best {
			return
		}
		if key != string(name) {
			continue
		}
		if text, ok := v.scalar(); ok && oneLine(text, maxTitle) != "" {
			*best, *title = rank, text
		}
		return
	}
}

// maxScalar bounds the literals that are decoded: anything longer is neither an id nor a title.
const maxScalar = 64 << 10

// scanner walks JSON bytes. After any malformed byte its rest is empty, which ends every loop.
type scanner struct{ rest []byte }

func (s *scanner) space() {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\n' || s.rest[0] == '\r' || s.rest[0] == '\t') {
		s.rest = s.rest[1:]
	}
}

// take consumes c after white space.
func (s *scanner) take(c byte) bool {
	s.space()
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// object calls visit for each member with its name, which is part of the input, and a scanner of the member's value alone. A value that
// is no object is left as it is.
func (s *scanner) object(visit func(name []byte, value *scanner)) {
	if !s.take('{') {
		return
	}
	var member scanner
	for {
		s.space()
		name, isText := unquoted(s.literal())
		if !isText || !s.take(':') {
			return
		}
		s.space()
		member.rest = s.value()
		visit(name, &member)
		if !s.take(',') {
			return
		}
	}
}

// value consumes one value of any depth and returns its bytes.
func (s *scanner) value() []byte {
	start := s.rest
	depth := 0
	for len(s.rest) > 0 {
		switch s.rest[0] {
		case '{', '[':
			depth++
			s.rest = s.rest[1:]
		case '}', ']':
			depth--
			s.rest = s.rest[1:]
		case ',', ':', ' ', '\n', '\r', '\t':
			s.rest = s.rest[1:]
		default:
			s.literal()
		}
		if depth <= 0 {
			break
		}
	}
	return start[:len(start)-len(s.rest)]
}

// literal consumes a string, number or word. It consumes at least one byte, unless nothing is left.
func (s *scanner) literal() []byte {
	start := s.rest
	if len(start) == 0 {
		return nil
	}
	end := wordEnd(start)
	if start[0] == '"' {
		end = stringEnd(start)
	}
	s.rest = start[end:]
	return start[:end]
}

func wordEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '{', '}', '[', ']', ':', ',', '"', ' ', '\n', '\r', '\t':
			return i
		}
	}
	return len(b)
}

// stringEnd is the index after the closing quote of the string that b begins with, or the length of b.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// scalar is the text of a string or number; not ok for anything else. Numbers keep their digits, so that large ids stay exact.
func (s *scanner) scalar() (string, bool) {
	if len(s.rest) == 0 || len(s.rest) > maxScalar {
		return "", false
	}
	if s.rest[0] == '"' {
		return unquote(s.rest)
	}
	if c := s.rest[0]; (c == '-' || (c >= '0' && c <= '9')) && json.Valid(s.rest) {
		return string(s.rest), true
	}
	return "", false
}

func unquote(literal []byte) (string, bool) {
	text, ok := unquoted(literal)
	return string(text), ok
}

// unquoted is the text of a string; part of the literal where nothing in it is escaped.
func unquoted(literal []byte) ([]byte, bool) {
	if len(literal) < 2 || len(literal) > maxScalar || literal[0] != '"' || literal[len(literal)-1] != '"' {
		return nil, false
	}
	if plain := literal[1 : len(literal)-1]; bytes.IndexByte(plain, '\\') < 0 && utf8.Valid(plain) {
		return plain, true
	}
	var text string
	if json.Unmarshal(literal, &text) != nil {
		return nil, false
	}
	return []byte(text), true
}
