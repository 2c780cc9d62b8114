//go:build linux

package torture

import (
	"path/filepath"
	"testing"
	"time"

	"fleetglass/lifecycle"
	"fleetglass/store/postgres"
	"fleetglass/store/sqlite"
)

// settle waits for the end of everything, and compares all there is to compare.
func (r *run) settle(g *glass, fleet *process, path, url string, open func(*testing.T) lifecycle.Store) {
	r.t.Helper()
	lines := awaitFleet(r.t, fleet, path, form(2*patience, 10*patience))
	js := dial(r.t, url)
	g.kill()
	g.again()
	c := g.ready()
	r.note("ready after a kill in", "%s", time.Since(g.began).Round(time.Millisecond))
	r.note("caught up after a kill in", "%s", g.recover(js).Round(time.Millisecond))
	quiet(r.t, js)
	truth := tell(lines)
	r.describe(truth)
	verdict(r.t, c, truth, compare)
	counts(r.t, c, truth, nil)
	r.balances(c, truth)
	if ids := held(r.t, c); len(ids) > 0 {
		r.t.Errorf("in flight although nobody holds them: %v", ids)
	}
	g.stop(r.t)
	store := open(r.t)
	recount(r.t, store, truth)
	if err := store.Close(); err != nil {
		r.t.Error(err)
	}
	rebuild(r.t, g, open, truth)
}

// describe says in the table what the fleet did.
func (r *run) describe(truth map[string]*told) {
	var all told
	reports, beats, naks, acks, terms, silent, attempts, overruns := 0, 0, 0, 0, 0, 0, 0, 0
	for _, t := range truth {
		overruns += t.overruns()
		beats, naks, acks, terms, silent, attempts = beats+t.beats(), naks+t.naks(), acks+t.acks(), terms+t.terms(), silent+t.silent(), attempts+t.last()
		all.Duplicates += t.Duplicates
		for _, n := range t.Reports {
			reports += n
		}
	}
	r.note("what the fleet did", "%d tasks, %d attempts, %d heartbeats, %d acks, %d naks, %d terminations, %d silent attempts, %d duplicates, %d reports",
		len(truth), attempts, beats, acks, naks, terms, silent, all.Duplicates, reports)
	if overruns > 0 {
		r.note("handed out again too early", "%d attempts, because this machine is too slow for their waits", overruns)
	}
}

// sqliteIn opens the store under a data directory.
func sqliteIn(dir string) func(*testing.T) lifecycle.Store {
	return func(t *testing.T) lifecycle.Store {
		t.Helper()
		store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(dir, "fleetglass.db")})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

// postgresAt opens the store in a database.
func postgresAt(url string) func(*testing.T) lifecycle.Store {
	return func(t *testing.T) lifecycle.Store {
		t.Helper()
		store, err := postgres.Open(t.Context(), postgres.Config{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}
