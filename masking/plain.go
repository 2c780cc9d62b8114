package masking

import "bytes"

// longestName is how long the name of a field in plain text may be, bytes.
const longestName = 200

// plain masks text that is no whole JSON: the values of hidden fields, which it takes for what stands behind `"name":`, and behind `name:` or
// `name=` at the beginning of a line, and what has the form of a token. It takes time linear in the text.
func (m *Masker) plain(text []byte) []byte {
	var out []byte // What is masked of the text so far.
	done := 0      // How much of the text that is.
	for at := 0; at < len(text); at++ {
		next := bytes.IndexAny(text[at:], ":=")
		if next < 0 {
			break
		}
		at += next
		name, quote := nameBefore(text[done:at], text[at] == ':')
		if name == nil || !m.field(string(name)) {
			continue
		}
		from := at + 1 + blanks(text[at+1:])
		if from == len(text) {
			break
		}
		end := len(text) // Nobody knows where a list or an object ends that is cut off.
		if quote == "" {
			end = from + lineEnd(text[from:])
		} else if c := text[from]; c != '[' && c != '{' {
			end = from + valueEnd(text[from:])
		}
		if end == from {
			continue
		}
		out = append(append(out, text[done:from]...), quote+Placeholder+quote...)
		done, at = end, end-1
	}
	return m.Bytes(append(out, text[done:]...))
}

// nameBefore is the field's name at the end of a text, and the quote around it; nil where there is none. A bare name stands alone on its line.
func nameBefore(text []byte, quotable bool) (name []byte, quote string) {
	text = bytes.TrimRight(text, " \t\r\n\f")
	text = text[max(0, len(text)-2*longestName):]
	if quoted, found := bytes.CutSuffix(text, []byte(`"`)); found {
		open := bytes.LastIndexByte(quoted, '"')
		if name = quoted[open+1:]; !quotable || open < 0 || len(name) > longestName || bytes.IndexByte(name, '\\') >= 0 {
			return nil, ""
		}
		return name, `"`
	}
	name = text[bytes.LastIndexByte(text, '\n')+1:]
	if len(name) > longestName || bytes.ContainsFunc(name, notInName) {
		return nil, ""
	}
	return name, ""
}

// notInName reports whether a bare name cannot have the character.
func notInName(r rune) bool {
	return r != '.' && r != '-' && (r > 127 || !wordByte(byte(r)))
}

// blanks is how many bytes of white space a text begins with.
func blanks(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " \t\r\n\f")) }

func lineEnd(text []byte) int {
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		return end
	}
	return len(text)
}

// valueEnd is where a JSON text, number or word ends, which may be cut off.
func valueEnd(text []byte) int {
	if text[0] != '"' {
		if end := bytes.IndexAny(text, " \t\r\n\f,}]\"{["); end >= 0 {
			return end
		}
		return len(text)
	}
	for at := 1; at < len(text); at++ {
		switch text[at] {
		case '\\':
			at++
		case '"':
			return at + 1
		}
	}
	return len(text)
}
