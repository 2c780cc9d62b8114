package views

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"
)

// command is a command whose lines end between flags. It is copied as it is: nothing but its own white space stands in it.
func command(text string) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		parts := strings.Split(text, " --")
		for i, part := range parts {
			if i > 0 {
				part = "--" + part
			}
			parts[i] = `<span class="nowrap">` + templ.EscapeString(part) + `</span>`
		}
		_, err := io.WriteString(w, strings.Join(parts, " "))
		return err
	})
}
