// Command testsummary reads what `go test -json` wrote and says in one plain line how many tests passed, failed and were skipped.
// A skipped test counts as a failure unless it is listed: a suite that quietly leaves tests out is not green.
//
//	testsummary [-allow file] results.json ...
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	allow := flag.String("allow", "", "file with the tests that may be skipped, one package.Test a line, # begins a comment")
	flag.Parse()
	ok, err := run(os.Stdout, *allow, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(w io.Writer, allowFile string, files []string) (ok bool, err error) {
	allowed, err := readAllowed(allowFile)
	if err != nil {
		return false, err
	}
	s := Summary{Allowed: allowed}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return false, err
		}
		err = s.Read(f)
		_ = f.Close()
		if err != nil {
			return false, fmt.Errorf("read %s: %w", name, err)
		}
	}
	s.Write(w)
	return s.OK(), nil
}

func readAllowed(name string) (map[string]bool, error) {
	allowed := map[string]bool{}
	if name == "" {
		return allowed, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line != "" {
			allowed[line] = true
		}
	}
	return allowed, nil
}
