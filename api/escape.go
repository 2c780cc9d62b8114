package api

import (
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// escaping writes JSON in which the control characters that the encoder leaves as they are (U+007F to U+009F) are escaped: a terminal would act on
// them. JSON has them in texts only. A character must not be cut between two writes, and the encoder writes a value at once.
type escaping struct{ to io.Writer }

// Write implements io.Writer.
func (e escaping) Write(p []byte) (int, error) {
	begin := 0
	for i := 0; i < len(p); {
		if p[i] != 0x7f && p[i] != 0xc2 { // The first byte of each of them.
			i++
			continue
		}
		r, size := utf8.DecodeRune(p[i:])
		if unicode.IsControl(r) {
			if _, err := e.to.Write(p[begin:i]); err != nil {
				return 0, err
			}
			if _, err := fmt.Fprintf(e.to, `\u%04x`, r); err != nil {
				return 0, err
			}
			begin = i + size
		}
		i += size
	}
	_, err := e.to.Write(p[begin:])
	return len(p), err
}
