package web

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/dlqtriage"
	"fleetglass/internal/health"
	"fleetglass/lifecycle"
	"fleetglass/query"
	"fleetglass/views"
)

// Rows of the in-flight board.
const (
	leasesTogether = 25  // Of each kind, where all kinds are shown.
	leasesAlone    = 100 // Where one kind is shown.
)

// inFlight is what workers hold: the first leases of each kind, or a part of those of one kind.
func (w *Web) inFlight(c *gin.Context) error {
	only, from, err := leasePart(c.Request.URL.Query())
	if err != nil {
		return err
	}
	snap, err := w.snapshot(c.Request.Context())
	if err != nil {
		return err
	}
	p := views.InFlightPage{Links: links(c, "/in-flight", "/api/v1/in-flight", nil), Partial: snap.InFlight.Partial}
	if w.cfg.Actions != nil {
		p.May = w.mayNot(c.Request.Context(), access.TriagePropose)
	}
	acts := w.cfg.Actions != nil && p.May.Say == ""
	for _, k := range views.LeaseKinds() {
		leases := leasesOf(snap.InFlight, k)
		switch {
		case only == "" && len(leases) > 0:
			p.Groups = append(p.Groups, leaseGroup(snap, k, leases, 0, leasesTogether, acts))
		case only == k:
			p.Groups = append(p.Groups, leaseGroup(snap, k, leases, from, leasesAlone, acts))
		}
	}
	all, err := w.cfg.Query.Restarts(c.Request.Context())
	if err != nil {
		return err
	}
	p.Restart, p.Restarts = openRestart(snap, all), len(all) > 0
	p.Stats = leaseStats(snap)
	if only != "" {
		p.All = "/in-flight"
		for i := range p.Stats { // The parts of the board are not on this page.
			p.Stats[i].Href = p.All + p.Stats[i].Href
		}
	}
	p.Lede = leasesLede(snap.InFlight)
	if len(snap.InFlight.Leases) == 0 {
		p.Lede = "no leases"
		p.Empty = w.emptyInFlight(snap)
	}
	return w.render(c, frame{title: "In flight", section: "in-flight", search: true, snapshot: snap}, views.InFlight(p))
}

// leasesOf are the leases of one group of the board. The groups have each lease once.
func leasesOf(f query.InFlight, k views.LeaseKind) []lifecycle.Lease {
	switch k {
	case views.LeasesHealthy:
		return f.Healthy()
	case views.LeasesUnread:
		return f.Unread()
	case views.LeasesHandedBack:
		return f.HandedBack()
	}
	return f.OfKind(lifecycle.StaleKind(k))
}

// leasePart reads which part of the board is asked for: one group, or all where only is empty.
func leasePart(q url.Values) (only views.LeaseKind, from int, err error) {
	if only = views.LeaseKind(q.Get("kind")); only == "" {
		return "", 0, nil
	}
	var wrongKind, wrongFrom error
	if !slices.Contains(views.LeaseKinds(), only) {
		wrongKind = &lifecycle.FilterError{Parameter: "kind", Detail: "must be a stale kind, not_read, handed_back or healthy"}
	}
	if text := q.Get("from"); text != "" {
		if from, err = strconv.Atoi(text); err != nil || from < 0 {
			wrongFrom = &lifecycle.FilterError{Parameter: "from", Detail: "must be a number of rows"}
		}
	}
	return only, from, errors.Join(wrongKind, wrongFrom)
}

// leaseGroup is a part of the leases of one group, with the way to the others.
func leaseGroup(snap *query.FleetSnapshot, kind views.LeaseKind, all []lifecycle.Lease, from, limit int, acts bool) views.LeaseGroup {
	g := views.LeaseGroup{Kind: kind, Total: len(all)}
	part := func(from int) string {
		return address("/in-flight", url.Values{"kind": {string(kind)}, "from": {strconv.Itoa(from)}})
	}
	from = min(from, len(all))
	to := min(from+limit, len(all))
	if from > 0 {
		g.Prev = part(max(0, from-limit))
	}
	if to < len(all) {
		g.Next = part(to)
	}
	for _, l := range all[from:to] {
		g.Leases = append(g.Leases, leaseRow(snap, l, acts))
	}
	return g
}

// leaseRow is one lease; acts says whether the reader can do something about it.
func leaseRow(snap *query.FleetSnapshot, l lifecycle.Lease, acts bool) views.LeaseRow {
	row := views.LeaseRow{Lease: l, Href: lifecycle.PageOfTask(l.TaskID), Typical: snap.Typical[l.Type]}
	if acts && !l.Beside {
		row.Act = heldAddress(l.Message)
	}
	row.Blocked = snap.InFlight.Blocked(l)
	if r, decided := snap.InFlight.Recovery(l); decided {
		v := recoveryView(r, l.TaskID)
		row.Recovery = &v
	}
	return row
}

// recoveryView is a decision of recovery about a task, with the pages on which its evidence can be seen.
func recoveryView(r dlqtriage.Recovery, task string) views.RecoveryView {
	v := views.RecoveryView{Recovery: r}
	for _, e := range r.Evidence {
		v.Links = append(v.Links, e.Link(task, lifecycle.PageOfTask))
	}
	return v
}

// leasesLede says how many leases the board has, in parts that add up to its groups; "at least" where not all leases were looked for.
func leasesLede(f query.InFlight) string {
	text := counted(int64(len(f.Leases)), "lease", "leases")
	if f.Partial {
		text = "at least " + text
	}
	if ended := len(f.Leases) - f.Held(); ended > 0 {
		text += fmt.Sprintf(" (%s held, %s ended without a next attempt)", views.Count(int64(f.Held())), views.Count(int64(ended)))
	}
	wrong := "nothing wrong"
	if n := f.Stale(); n > 0 {
		wrong = views.Count(int64(n)) + " with something wrong"
	} else if f.Partial || len(f.Unread()) > 0 {
		wrong = "nothing known to be wrong"
	}
	return text + ", " + wrong + "; nearest deadline first"
}

func (w *Web) emptyInFlight(snap *query.FleetSnapshot) views.EmptyState {
	switch down := downParts(w.health()); {
	case snap.Counts.Total() == 0 && (down == "" || len(health.Lacking(w.health())) > 0):
		return w.emptyFleet(snap)
	case down != "":
		return views.EmptyState{Kind: "down", Say: "No lease is known, but " + down + ".", Why: "Workers may hold messages that cannot be seen now.", Links: []views.Chip{{Href: "/capture", Label: "Capture"}}}
	}
	return views.EmptyState{Kind: "healthy", Say: "All healthy: no task is in flight, and no lease is stale.",
		Why:   fmt.Sprintf("%s checked just now; %s", counted(snap.Counts.Total(), "task", "tasks"), captureWords(w.health())),
		Links: []views.Chip{{Href: "/tasks?state=published", Label: counted(snap.Counts.Of(lifecycle.StatePublished), "task waits", "tasks wait")}}}
}

func leaseStats(snap *query.FleetSnapshot) []views.Stat {
	var out []views.Stat
	for _, k := range []lifecycle.StaleKind{lifecycle.StalePresumedDead, lifecycle.StaleLease, lifecycle.StaleZombie, lifecycle.StaleStuck, lifecycle.StaleExpiring} {
		tone, icon := views.StaleLook(k)
		n := len(snap.InFlight.OfKind(k))
		if k == lifecycle.StaleStuck {
			n += len(snap.InFlight.OfKind(lifecycle.StaleWeakAccept))
		}
		s := views.Stat{Href: "#" + string(k), Icon: icon, Tone: tone, Label: staleHeading(k), Value: views.Count(int64(n)), Loud: n > 0 && tone == "bad", Detail: staleShort(k)}
		if len(snap.InFlight.OfKind(k)) == 0 {
			s.Href = "#leases"
		}
		out = append(out, s)
	}
	held, back := snap.InFlight.Healthy(), len(snap.InFlight.HandedBack())
	healthy := views.Stat{Href: "#healthy", Icon: "processing", Tone: "run", Label: "Healthy", Value: views.Count(int64(len(held)))}
	var detail []string
	if unread := len(snap.InFlight.Unread()); unread > 0 {
		detail = append(detail, views.Count(int64(unread))+" not seen")
	}
	if back > 0 {
		detail = append(detail, views.Count(int64(back))+" handed back")
	}
	if len(held) > 0 && held[0].Deadline.Known() {
		detail, healthy.Due = append(detail, "next deadline"), held[0].Deadline
	} else {
		detail = append(detail, "within the ack wait")
	}
	healthy.Detail = strings.Join(detail, "; ")
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
