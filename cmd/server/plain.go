package main

import (
	"io"
	"sync"
	"unicode"
	"unicode/utf8"
)

// plainWriter writes to a terminal what programs and people elsewhere named: control characters and broken text become U+FFFD, because a terminal would
// act on them. New lines and tabs stay.
type plainWriter struct {
	to io.Writer

	mu   sync.Mutex
	rest []byte // The beginning of a character whose end comes with the next write.
}

// Write implements io.Writer.
func (w *plainWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.rest, p...)
	out := make([]byte, 0, len(text))
	for len(text) > 0 && utf8.FullRune(text) {
		r, size := utf8.DecodeRune(text)
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			r = utf8.RuneError
		}
		out, text = utf8.AppendRune(out, r), text[size:]
	}
	w.rest = append([]byte{}, text...)
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
