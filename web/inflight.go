package web

import (
	"fmt"

	"github.com/gin-gonic/gin"

	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// inFlight is what workers hold.
func (w *Web) inFlight(c *gin.Context) error {
	snap, err := w.snapshot(c.Request.Context())
	if err != nil {
		return err
	}
	p := views.InFlightPage{Links: links(c, "/in-flight", "/api/v1/in-flight", nil), Partial: snap.InFlight.Partial}
	groups := map[lifecycle.StaleKind][]views.LeaseRow{}
	for _, l := range snap.InFlight.Leases {
		row := views.LeaseRow{Lease: l, Href: taskAddress(l.TaskID), Typical: snap.Typical[l.Type]}
		if w.cfg.Actions != nil {
			row.Act = heldAddress(l.Message)
		}
		if r, decided := snap.InFlight.Recovery(l.Message); decided {
			row.Recovery = &views.RecoveryView{Recovery: r, Href: row.Href}
		}
		groups[l.Stale] = append(groups[l.Stale], row)
	}
	for _, k := range append(lifecycle.StaleKinds(), "") {
		if len(groups[k]) > 0 {
			p.Groups = append(p.Groups, views.LeaseGroup{Kind: k, Leases: groups[k]})
		}
	}
	p.Stats = leaseStats(snap, groups)
	p.Lede = fmt.Sprintf("%s held, %d stale, sorted by time to the deadline", leasesHeld(snap.InFlight), snap.InFlight.Stale())
	if len(snap.InFlight.Leases) == 0 {
		p.Lede = "no leases"
		p.Empty = w.emptyInFlight(snap)
	}
	return w.render(c, frame{title: "In flight", section: "in-flight", search: true, snapshot: snap}, views.InFlight(p))
}

// leasesHeld counts what is held; "at least" where not all leases were looked for.
func leasesHeld(f query.InFlight) string {
	text := counted(int64(f.Held()), "lease is", "leases are")
	if f.Partial {
		return "at least " + text
	}
	return text
}

func (w *Web) emptyInFlight(snap *query.FleetSnapshot) views.EmptyState {
	switch down := downParts(w.health()); {
	case snap.Counts.Total() == 0 && down == "":
		return w.emptyNew()
	case down != "":
		return views.EmptyState{Kind: "down", Say: "No lease is known, but " + down + ".", Why: "Workers may hold messages that cannot be seen now.", Links: []views.Chip{{Href: "/capture", Label: "Capture"}}}
	}
	return views.EmptyState{Kind: "healthy", Say: "All healthy: no task is in flight, and no lease is stale.",
		Why:   fmt.Sprintf("%s checked just now; %s", counted(snap.Counts.Total(), "task", "tasks"), captureWords(w.health())),
		Links: []views.Chip{{Href: "/tasks?state=published", Label: counted(snap.Counts.Of(lifecycle.StatePublished), "task waits", "tasks wait")}}}
}

func leaseStats(snap *query.FleetSnapshot, groups map[lifecycle.StaleKind][]views.LeaseRow) []views.Stat {
	var out []views.Stat
	for _, k := range []lifecycle.StaleKind{lifecycle.StalePresumedDead, lifecycle.StaleLease, lifecycle.StaleZombie, lifecycle.StaleStuck, lifecycle.StaleExpiring} {
		tone, icon := views.StaleLook(k)
		n := len(groups[k])
		if k == lifecycle.StaleStuck {
			n += len(groups[lifecycle.StaleWeakAccept])
		}
		s := views.Stat{Href: "#" + string(k), Icon: icon, Tone: tone, Label: staleHeading(k), Value: views.Count(int64(n)), Loud: n > 0 && tone == "bad", Detail: staleShort(k)}
		if len(groups[k]) == 0 {
			s.Href = "#leases"
		}
		out = append(out, s)
	}
	healthy := views.Stat{Href: "#healthy", Icon: "processing", Tone: "run", Label: "Healthy", Value: views.Count(int64(len(groups[""]))), Detail: "within the ack wait"}
	if len(groups[""]) > 0 && groups[""][0].Deadline.Known() {
		healthy.Detail = "next deadline in " + views.Duration(groups[""][0].Left(snap.AsOf))
	}
	return append(out, healthy)
}

func staleHeading(k lifecycle.StaleKind) string {
	switch k {
	case lifecycle.StalePresumedDead:
		return "Presumed dead"
	case lifecycle.StaleLease:
		return "Stale"
	case lifecycle.StaleZombie:
		return "Zombie"
	case lifecycle.StaleStuck:
		return "Stuck or weak"
	}
	return "Expiring"
}

func staleShort(k lifecycle.StaleKind) string {
	switch k {
	case lifecycle.StalePresumedDead:
		return "last attempt, deadline passed"
	case lifecycle.StaleLease:
		return "deadline passed, no newer attempt"
	case lifecycle.StaleZombie:
		return "an older attempt still acts"
	case lifecycle.StaleStuck:
		return "far over the usual run time, or never started"
	}
	return "under 20 % left, no heartbeat"
}
