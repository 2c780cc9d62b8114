package views

import (
	"time"

	"fleetglass/lifecycle"
)

// timesOf says how long a task was in workers' hands and how long in nobody's. What is zero is left out, so that no time that could not be
// split reads as none; nothing at all where no time is known. Of several messages there is no sum: the time between them is in neither.
func timesOf(running, waiting, unsplit time.Duration, messages int) []Param {
	var out []Param
	add := func(d time.Duration, name string) {
		if d > 0 {
			out = append(out, Param{Name: name, Value: lifecycle.Lasting(d)})
		}
	}
	add(running, "running")
	add(waiting, "waiting")
	add(unsplit, "waiting or running (the delivery was not observed)")
	if len(out) < 2 || messages > 1 {
		return out
	}
	return append([]Param{{Name: "in all", Value: lifecycle.Lasting(running + waiting + unsplit)}}, out...)
}
