// Package archtest keeps the packages apart: it holds the table of what each package may import and compares it with what the
// go command says. The design it protects is described in docs/architecture.md.
package archtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Package is what the go command says about one package.
type Package struct {
	ImportPath   string
	Imports      []string // Of the package itself.
	TestImports  []string // Of its tests inside the package.
	XTestImports []string // Of its tests outside the package.
}

// Rule is a row of the table: what the packages that match may import beside the standard library.
type Rule struct {
	Package string   // Path below the module; a trailing "/*" matches one more element.
	Own     []string // Packages of this module, in the same form.
	Others  []string // Prefixes of other modules.
	Tests   []string // Packages of this module that its tests may import too.
}

// Load lists the packages of the module in dir and below.
func Load(ctx context.Context, dir string) ([]Package, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("go list: %w: %s", err, exit.Stderr)
		}
		return nil, fmt.Errorf("go list: %w", err)
	}
	return decode(strings.NewReader(string(out)))
}

func decode(r io.Reader) ([]Package, error) {
	var packages []Package
	for d := json.NewDecoder(r); ; {
		var p Package
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("decode go list: %w", err)
		}
		packages = append(packages, p)
	}
}

// Check returns one sentence for each import that the table forbids, and for each package that has no row in it.
func Check(module string, table []Rule, packages []Package) []string {
	var found []string
	for _, p := range packages {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		i := slices.IndexFunc(table, func(r Rule) bool { return matches(r.Package, name) })
		if i < 0 {
			found = append(found, fmt.Sprintf("%s has no row in the table of imports", name))
			continue
		}
		for _, path := range p.Imports {
			if !table[i].allows(module, path) {
				found = append(found, fmt.Sprintf("%s imports %s", name, path))
			}
		}
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			if path != p.ImportPath && !table[i].allows(module, path) && !table[i].allowsTest(module, path) {
				found = append(found, fmt.Sprintf("a test of %s imports %s", name, path))
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (r Rule) allows(module, path string) bool {
	if own, ok := strings.CutPrefix(path, module+"/"); ok {
		return slices.ContainsFunc(r.Own, func(pattern string) bool { return matches(pattern, own) })
	}
	if !strings.Contains(strings.SplitN(path, "/", 2)[0], ".") {
		return true
	}
	return slices.ContainsFunc(r.Others, func(prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") })
}

// allowsTest lets every test use the test kit, the real stores behind their ports, and the libraries of tests. Tests of a
// package must still not reach into another package that the package itself may not know, unless its row says so.
func (r Rule) allowsTest(module, path string) bool {
	if own, ok := strings.CutPrefix(path, module+"/"); ok {
		return slices.ContainsFunc(slices.Concat(testOwn, r.Tests), func(pattern string) bool { return matches(pattern, own) })
	}
	return slices.ContainsFunc(testOthers, func(prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") })
}

func matches(pattern, name string) bool {
	prefix, wild := strings.CutSuffix(pattern, "/*")
	if !wild {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, prefix+"/")
	return ok && !strings.Contains(rest, "/")
}
