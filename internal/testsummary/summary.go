package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Summary counts the results of tests.
type Summary struct {
	Allowed map[string]bool // Tests that may be skipped, as package.Test.

	Passed, Skipped int
	Failed          []string // As package.Test, or the package alone when it failed outside its tests.
	Unlisted        []string // Skipped without being allowed to.
}

// result is the part of a line of test2json that counts.
type result struct {
	Action, Package, Test string
}

// Read adds the results of one `go test -json`. Lines that are not JSON, such as those of a failing build, are an error.
func (s *Summary) Read(r io.Reader) error {
	failing := map[string]bool{} // Packages with a failed test.
	for d := json.NewDecoder(r); ; {
		var line result
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		s.add(line, failing)
	}
}

func (s *Summary) add(line result, failing map[string]bool) {
	name := line.Package + "." + line.Test
	switch {
	case line.Test != "" && line.Action == "pass":
		s.Passed++
	case line.Test != "" && line.Action == "fail":
		failing[line.Package] = true
		s.Failed = append(s.Failed, name)
	case line.Test != "" && line.Action == "skip" && s.Allowed[name]:
		s.Skipped++
	case line.Test != "" && line.Action == "skip":
		s.Unlisted = append(s.Unlisted, name)
	case line.Test == "" && line.Action == "fail" && line.Package != "" && !failing[line.Package]:
		s.Failed = append(s.Failed, line.Package)
	}
}

// OK reports whether something ran and nothing failed.
func (s *Summary) OK() bool { return s.Passed > 0 && len(s.Failed)+len(s.Unlisted) == 0 }

// Write names what failed and closes with the plain line.
func (s *Summary) Write(w io.Writer) {
	for _, name := range s.Failed {
		_, _ = fmt.Fprintln(w, "failed:", name)
	}
	for _, name := range s.Unlisted {
		_, _ = fmt.Fprintln(w, "failed: skipped without being listed:", name)
	}
	_, _ = fmt.Fprintf(w, "%d passed, %d failed", s.Passed, len(s.Failed)+len(s.Unlisted))
	if s.Skipped > 0 {
		_, _ = fmt.Fprintf(w, ", %d skipped", s.Skipped)
	}
	_, _ = fmt.Fprintln(w)
}
