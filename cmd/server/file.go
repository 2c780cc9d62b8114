package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// fileSource resolves flags from the configuration file: a YAML mapping from the names of flags to their values, lists where a
// flag may be repeated. A name that is no setting is a problem, so that a misspelt one is not silently ignored.
type fileSource struct {
	problems *problems
	values   map[string]string
}

// load reads the file. Without a name there is nothing to read.
func (s *fileSource) load(name string, flags []*kong.Flag) {
	if name == "" || s.values != nil {
		return
	}
	s.values = map[string]string{}
	text, err := os.ReadFile(name)
	if err != nil {
		s.problems.add("config", "%w", err)
		return
	}
	var entries yaml.MapSlice
	if err := yaml.Unmarshal(text, &entries); err != nil {
		s.problems.add("config", "%s: %s", name, yaml.FormatError(err, false, false))
		return
	}
	known := namesForFile(flags)
	for _, entry := range entries {
		key := fmt.Sprint(entry.Key)
		if !slices.Contains(known, key) {
			near, _ := nearest(key, known)
			s.problems.add("config", "%s: %w", name, unknown(strconv.Quote(key), near))
			continue
		}
		value, err := settingText(entry.Value)
		if err != nil {
			s.problems.add(key, "%s: %w", name, err)
			continue
		}
		s.values[key] = value
	}
}

// namesForFile are the settings that a file may hold: all but its own name.
func namesForFile(flags []*kong.Flag) (names []string) {
	for _, flag := range flags {
		if isSetting(flag) && flag.Name != "config" {
			names = append(names, flag.Name)
		}
	}
	return names
}

// settingText writes a YAML value as the text that the flag takes.
func settingText(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", errors.New("has no value")
	case []any:
		parts := make([]string, len(v))
		for i, item := range v {
			text, err := settingText(item)
			if err != nil {
				return "", err
			}
			parts[i] = text
		}
		return strings.Join(parts, ","), nil
	case map[string]any, yaml.MapSlice:
		return "", errors.New("wants a value or a list, not a mapping")
	default:
		return fmt.Sprint(v), nil
	}
}

// Validate has nothing to add: names were checked while reading.
func (s *fileSource) Validate(*kong.Application) error { return nil }

// Resolve gives the value from the file, nil when the file does not set the flag.
func (s *fileSource) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if value, ok := s.values[flag.Name]; ok {
		return value, nil
	}
	return nil, nil
}
