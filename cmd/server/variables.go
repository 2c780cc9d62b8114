package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

const variablePrefix = "FLEETGLASS_"

// environment is the variables of a process, each as NAME=value, as os.Environ gives them.
type environment []string

// lookup gives the value of a variable and whether it is set, as os.LookupEnv does.
func (e environment) lookup(name string) (string, bool) {
	for _, entry := range e {
		if key, value, _ := strings.Cut(entry, "="); key == name {
			return value, true
		}
	}
	return "", false
}

// envName is the variable that sets a flag.
func envName(flag string) string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// ofOthers are variables with our prefix that are no settings and no mistakes. Kubernetes writes where a Service is into every pod, and the name of
// the Service begins them. The broker reads the passwords of its users, which provision --permissions names. The rest belongs to tests.
var ofOthers = regexp.MustCompile(`^FLEETGLASS_(([A-Z0-9_]+_)?(SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)=|PORT=[a-z]+://|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=)` +
	`|([A-Z0-9_]+_)?PASSWORD=` +
	`|(TEST|TORTURE|BENCH|PAGES|BROKER|FIREFOX|IMAGE)(_[A-Z_]+)?=)`)

// findUnknown names every variable with our prefix that nothing reads. One that is near to a setting is wrong: what stands in its place is a default. One that
// is like none may be somebody else's, so it is only noted. One that is a letter away from a setting is misspelt, whatever else it may be. An empty variable is not set.
func (e environment) findUnknown(program *kong.Node, p *problems) (notes []string) {
	known := knownVariables(program)
	for _, entry := range e {
		name, value, _ := strings.Cut(entry, "=")
		if value == "" || !strings.HasPrefix(name, variablePrefix) || slices.Contains(known, name) {
			continue
		}
		near, edits := nearest(name, known)
		switch {
		case edits != 1 && ofOthers.MatchString(entry):
		case near == "":
			notes = append(notes, name+" is not a setting, and nothing reads it")
		default:
			p.list = append(p.list, unknown(name, near))
		}
	}
	return notes
}

// knownVariables are those of the settings, and those that flags of commands read.
func knownVariables(node *kong.Node) (names []string) {
	for _, flag := range node.Flags {
		if isSetting(flag) {
			names = append(names, envName(flag.Name))
		}
		if also := flag.Tag.Get("also"); also != "" {
			names = append(names, also)
		}
	}
	for _, child := range node.Children {
		names = append(names, knownVariables(child)...)
	}
	return names
}

// unknown says that a name is none of a setting, and which one may be meant.
func unknown(name, near string) error {
	if near == "" {
		return fmt.Errorf("%s is not a setting; fleetglass --help lists the settings", name)
	}
	return fmt.Errorf("%s is not a setting; did you mean %s?", name, near)
}

// nearest is the name that another may be meant for, and how many edits away it is: at most two, or one of both goes on where the other ends. It is empty
// where there is none.
func nearest(name string, known []string) (near string, edits int) {
	for _, candidate := range known {
		n := distance(name, candidate)
		goesOn := strings.HasPrefix(name, candidate) || strings.HasPrefix(candidate, name)
		if (n <= 2 || goesOn) && (near == "" || n < edits) {
			near, edits = candidate, n
		}
	}
	return near, edits
}

// distance counts the edits between two words. An edit adds, removes or changes a letter, or swaps two neighbours.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					rows[i][j] = min(rows[i][j], 1+rows[i-2][j-2])
				}
			}
		}
	}
	return rows[len(a)][len(b)]
}
