package main

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"fleetglass/views"
)

// Where the value of a setting may come from.
const (
	fromFlag     = "flag"
	fromVariable = "variable"
	fromFile     = "file"
	fromDefault  = "default"
)

// inForce lists every setting with its value and where that came from, in groups, for the page of settings. No secret is in it.
func (l *loaded) inForce(file *fileSource, env environment) []views.SettingGroup {
	var out []views.SettingGroup
	for _, flag := range l.context.Model.Flags {
		if !isSetting(flag) {
			continue
		}
		row := views.SettingRow{Name: flag.Name, Variable: envName(flag.Name), Value: shownValue(flag.Target), From: l.origin(flag, file, env), Help: flag.Help}
		at := slices.IndexFunc(out, func(g views.SettingGroup) bool { return g.Title == flag.Group.Title })
		if at < 0 {
			at, out = len(out), append(out, views.SettingGroup{Title: flag.Group.Title})
		}
		out[at].Rows = append(out[at].Rows, row)
	}
	return out
}

// origin says where the value of a setting came from, by the order in which they take precedence.
func (l *loaded) origin(flag *kong.Flag, file *fileSource, env environment) string {
	if slices.ContainsFunc(l.context.Path, func(p *kong.Path) bool { return p.Flag == flag && !p.Resolved }) {
		return fromFlag
	}
	if value, _ := (environmentSource{env}).Resolve(nil, nil, flag); value != nil {
		return fromVariable
	}
	if _, set := file.values[flag.Name]; set {
		return fromFile
	}
	return fromDefault
}

// shownValue is a value as a page and the log may show it. Of an address only scheme and host are shown: paths and parameters of webhooks are secrets too.
func shownValue(v reflect.Value) string {
	switch value := v.Interface().(type) {
	case Secret:
		if value != "" {
			return "set, not shown"
		}
		return ""
	case URL:
		return value.place()
	case []URL:
		places := make([]string, len(value))
		for i, u := range value {
			places[i] = u.place()
		}
		return strings.Join(places, ", ")
	case []string:
		return strings.Join(value, ", ")
	default:
		return fmt.Sprint(value)
	}
}

// place is the address without everything that may be a secret.
func (u URL) place() string {
	if u == "" {
		return ""
	}
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.Host == "" {
		return "set, not shown"
	}
	shown := url.URL{Scheme: parsed.Scheme, Host: parsed.Host}
	if rest := parsed.Path; rest != "" && rest != "/" || parsed.RawQuery != "" || parsed.User != nil {
		return shown.String() + " (the rest is not shown)"
	}
	return shown.String()
}
