//go:build linux

package bench

import "time"

// form says how much is measured.
type form struct {
	name     string
	runs     int           // Of each row that is repeated.
	tasks    int           // Recorded for ingest; about eight lines each.
	events   int           // Stored where a row speaks of stored events.
	postgres int           // The same in Postgres, where it takes longer.
	reads    int           // Of each kind.
	serve    time.Duration // That each server is asked for, each run.
	paced    time.Duration // That messages are published at a steady rate.
	rate     int           // Messages a second meanwhile.
	saturate time.Duration // That a fleet works as fast as it can, each run.
	idle     time.Duration // Before memory is looked at.
	starts   int
}

var forms = map[string]form{
	"smoke": {
		runs: 1, tasks: 200, events: 5_000, postgres: 5_000, reads: 20, serve: 100 * time.Millisecond, paced: 500 * time.Millisecond, rate: 200,
		saturate: 300 * time.Millisecond, idle: 200 * time.Millisecond, starts: 1,
	},
	"quick": {
		runs: 3, tasks: 8000, events: 200_000, postgres: 200_000, reads: 2000, serve: 2 * time.Second, paced: 10 * time.Second, rate: 1000,
		saturate: 3 * time.Second, idle: time.Minute, starts: 7,
	},
	"long": {
		runs: 5, tasks: 60_000, events: 10_000_000, postgres: 3_000_000, reads: 20_000, serve: 5 * time.Second, paced: 30 * time.Second, rate: 1000,
		saturate: 10 * time.Second, idle: time.Minute, starts: 11,
	},
}
