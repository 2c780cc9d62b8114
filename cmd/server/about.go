package main

import (
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/store/postgres"
	"fleetglass/store/sqlite"
	"fleetglass/views"
)

// about says what this program is and what it works with, for the page of settings.
func (a *App) about(cfg Config, now func() time.Time) func() views.About {
	out := views.About{
		Version: version, Build: build(), Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		Store: "SQLite", Schema: sqlite.SchemaVersion(), Fold: lifecycle.FoldVersion, Facts: lifecycle.FactsVersion, Started: lifecycle.MicrosOf(now()),
	}
	if cfg.DatabaseURL != "" {
		out.Store, out.Schema = "Postgres", postgres.SchemaVersion()
	}
	return func() views.About {
		shown := out
		shown.Broker = a.brokerName()
		return shown
	}
}

// build names the commit that the program was built from; empty where the build does not say.
func build() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	facts := map[string]string{}
	for _, s := range info.Settings {
		facts[s.Key] = s.Value
	}
	var parts []string
	if revision := facts["vcs.revision"]; revision != "" {
		parts = append(parts, revision[:min(len(revision), 12)])
	}
	if at := facts["vcs.time"]; at != "" {
		parts = append(parts, "of "+at)
	}
	if facts["vcs.modified"] == "true" {
		parts = append(parts, "with changes")
	}
	return strings.Join(parts, " ")
}
