//go:build linux

package situations

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// situation is one row: what clients do, and what may be said of it.
type situation struct {
	name  string
	on    land           // Default [ordinary].
	act   func(*clients) // What happens, seen by the clients alone.
	may   claim          // Must hold in the end.
	never claim          // Must hold whenever Fleetglass is asked, also while things happen.
	// settle is how long after the last act the broker's state must have been looked at. Default [settling]: Fleetglass concludes some things
	// from waiting, and a wrong conclusion must have had the time to show.
	settle time.Duration
	mode   mode // Default both.
	since  int  // The least minor version of nats-server 2 on which it holds; zero for each that is supported.
}

const (
	settling   = 4 * time.Second
	turns      = 3                      // How often a row is played at most. It is played again only where its clients came too late, or failed on a slow machine.
	sampling   = 800 * time.Millisecond // Between two looks at a row: what is said for a second is seen.
	slow       = 500 * time.Millisecond // Where a broker answers a client no sooner, a lease of seconds may run out between two acts.
	apart      = 100 * time.Millisecond // Between the beginnings of two rows of a land.
	few        = 16                     // So many rows hardly take a share of the machine.
	concluding = 20 * time.Second       // How long what may be said may take beyond settling: a proof that may still come is waited for, 15 seconds at most.
)

// mode is when Fleetglass looks.
type mode string

const (
	live        mode = "live"        // All along.
	afterwards  mode = "afterwards"  // It starts when everything has happened.
	interrupted mode = "interrupted" // All along, but it is killed and started again; only rows that hold in both other modes are played.
)

// rows are all situations, by the headings of the specification.
var rows = map[string][]situation{
	"completion": completion, "consumers": consumers, "leases": leases, "removal": removal, "ledger": ledger, "gaps": gaps, "forgery": forgery,
	"beyond": beyond, "several": several, "delays": delays, "clocks": clocks, "rollups": rollups, "poison": poison, "inventions": inventions,
	"agents": agents, "settings": settings, "features": features, "earlier": earlier, "causes": causes, "ways": ways, "changes": changes, "successors": successors,
	"backups": backups, "retries": retries, "resets": resets, "spellings": spellings, "forgetting": forgetting, "memories": memories, "held": heldActions,
}

// only narrows the rows, for whoever works on one.
var only = flag.String("situation", "", "play the rows whose name matches this expression")

// Every row is played twice, on brokers of its own in each mode; all rows of a mode are played at once, because nearly all their time is
// waiting. Both modes at once are more than two cores can do, so the second one begins when a few rows of the first one are left, which wait.
func TestNothingIsSaidThatMayNotBeSaid(t *testing.T) {
	go func() { _, _ = program() }() // Brokers are started meanwhile. Whoever needs the program hears what went wrong.
	fewLeft := make(chan struct{})
	nearlyOver := sync.OnceFunc(func() { close(fewLeft) })
	var first sync.WaitGroup
	first.Go(func() {
		defer nearlyOver()
		t.Run(string(live), func(t *testing.T) { playAll(t, live, nearlyOver) })
	})
	<-fewLeft
	t.Run(string(afterwards), func(t *testing.T) { playAll(t, afterwards, func() {}) })
	first.Wait()
}

// playAll plays the rows of a mode, and makes each of them a test of its own. It says when the mode is nearly over.
func playAll(t *testing.T, m mode, nearlyOver func()) {
	t.Helper()
	for _, r := range play(t, m, nearlyOver) {
		t.Run(r.heading+"/"+r.name, func(t *testing.T) {
			if r.err != nil {
				t.Errorf("%v\nin the end:\n\t%s", r.err, r.last)
				return
			}
			t.Logf("in the end:\n\t%s", r.last)
		})
	}
}

// result is how one row went.
type result struct {
	heading string
	name    string
	err     error
	last    story
}

// play plays all rows of a mode. It says when [few] rows are left. Rows whose clients came too late are played again afterwards, by themselves;
// so are those that failed on a slow machine, which may have made another situation than was meant.
func play(t *testing.T, m mode, nearlyOver func()) []result {
	t.Helper()
	scenes := scenesOf(t, m, chosen(t, m))
	var left atomic.Int64
	over := func() {
		if left.Add(-1) == few {
			nearlyOver()
		}
	}
	var players []*player
	for _, s := range scenes {
		players = append(players, s.players...)
	}
	left.Store(int64(len(players)))
	for _, p := range players {
		p.over = over
	}
	for turn := 1; len(scenes) > 0; turn++ {
		prepare(t, scenes)
		playScenes(t, m, scenes)
		var again []*player
		for i, p := range players {
			if (p.late != "" || p.failed != nil && p.clients.longestWait() > slow) && turn < turns {
				t.Logf("%s/%s is played again: %v", p.heading, p.name, p.failed)
				players[i] = &player{heading: p.heading, situation: p.situation, agent: p.agent, over: func() {}}
				again = append(again, players[i])
			}
		}
		scenes = scenesOf(t, m, again)
	}
	var out []result
	for _, p := range players {
		out = append(out, result{heading: p.heading, name: p.name, err: p.failed, last: p.last})
	}
	return out
}

// chosen are the rows that are played in a mode.
func chosen(t *testing.T, m mode) []*player {
	t.Helper()
	var out []*player
	for _, heading := range slices.Sorted(maps.Keys(rows)) {
		for i, row := range rows[heading] {
			if row.on.name == "" {
				row.on = ordinary
			}
			if !row.holdsHere() {
				t.Logf("not played: %s/%s holds from nats-server 2.%d on", heading, row.name, row.since)
				continue
			}
			if !row.in(m) || !regexp.MustCompile(*only).MatchString(heading+"/"+row.name) {
				continue
			}
			out = append(out, &player{heading: heading, situation: row, agent: fmt.Sprintf("%s%d", heading, i)})
		}
	}
	return out
}

// scenesOf gives each land a broker of its own. Rows of lands that this broker cannot have are left out.
func scenesOf(t *testing.T, m mode, players []*player) []*scene {
	t.Helper()
	lands := map[string]*scene{}
	for _, p := range players {
		s := lands[p.on.name]
		if s == nil {
			s = &scene{mode: m, world: newWorld(t, p.on)}
			lands[p.on.name] = s
		}
		s.players = append(s.players, p)
	}
	maps.DeleteFunc(lands, func(_ string, s *scene) bool { return s.world == nil })
	scenes := slices.Collect(maps.Values(lands))
	for _, s := range scenes { // Who is looked at the longest begins first.
		slices.SortStableFunc(s.players, func(a, b *player) int { return cmp.Compare(b.settle, a.settle) })
	}
	return scenes
}

// playScenes lets all players act and judges what is said of them. The world of a scene that is over is closed: it takes a share of the machine.
func playScenes(t *testing.T, m mode, scenes []*scene) {
	t.Helper()
	if m == interrupted {
		watchInterrupted(t, scenes)
	}
	var all sync.WaitGroup
	for _, s := range scenes {
		all.Go(func() {
			defer s.world.close(t)
			switch m {
			case live:
				s.each(func(p *player, g *glass) { p.watched(g); p.judge(g) })
			case interrupted:
				s.each(func(p *player, g *glass) { p.judge(g) })
			case afterwards:
				s.each(func(p *player, _ *glass) { p.happen() })
				if err := s.world.look(t); err != nil {
					t.Error(err)
					return
				}
				s.each(func(p *player, g *glass) { p.judge(g) })
			}
			if s.judge != nil {
				s.judge(s.world.glass)
			}
		})
	}
	all.Wait()
}

// scene is the rows of one land.
type scene struct {
	mode    mode
	world   *world
	players []*player
	judge   func(*glass) // Optional. Asks about all rows together, once each was judged.
}

// prepare gives every row a connection of its own, and starts Fleetglass where it is to watch.
func prepare(t *testing.T, scenes []*scene) {
	t.Helper()
	var starting errgroup.Group
	for _, s := range scenes {
		s.connect(t)
		if s.mode != afterwards {
			starting.Go(func() error { return s.world.look(t) })
		}
	}
	if err := starting.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, s := range scenes {
		if s.mode != afterwards {
			s.watch(t)
		}
	}
}

func (s *scene) connect(t *testing.T) {
	t.Helper()
	for _, p := range s.players {
		js := s.world.connect(t)
		p.clients = &clients{
			ctx: t.Context(), nc: js.Conn(), js: js, agent: p.agent, url: s.world.url, clock: s.world.clock, memory: s.world.memory, stored: map[string][]letter{}, named: map[string]string{},
			records: s.world.records(js), halts: s.mode == interrupted,
		}
		p.clients.task("")
	}
}

// watch lets the clients act once publish attempts are heard.
func (s *scene) watch(t *testing.T) {
	t.Helper()
	s.world.glass.listening(t)
	for _, p := range s.players {
		p.clients.glass = s.world.glass
	}
}

// each does something with all rows at once. They begin one after the other, so that none is late because all the others begin too.
func (s *scene) each(do func(*player, *glass)) {
	var all sync.WaitGroup
	for i, p := range s.players {
		all.Go(func() {
			pause(p.clients.ctx, time.Duration(i)*apart)
			do(p, s.world.glass)
		})
	}
	all.Wait()
}

// player plays one row.
type player struct {
	situation
	heading string
	agent   string
	clients *clients
	over    func() // Called once it is judged.

	mu     sync.Mutex
	failed error  // What went wrong first.
	late   string // Where the clients came too late: how that was seen.
	last   story
	ended  moment // When the last act was over.
}

func (p *player) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed == nil {
		p.failed = err
	}
}

func (p *player) hasFailed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed != nil
}

// happen lets the clients act.
func (p *player) happen() { p.does(func() { p.act(p.clients) }) }

// does lets the clients do something.
func (p *player) does(something func()) {
	defer func() {
		p.ended = p.clients.clock.moment()
		switch r := recover().(type) {
		case nil:
		case late:
			p.mu.Lock()
			p.late, p.failed = r.what, errors.Join(errors.New("the clients came too late: "+r.what), p.failed)
			p.mu.Unlock()
		case failure:
			p.fail(fmt.Errorf("the clients cannot act: %w", r.err))
		default:
			panic(r)
		}
	}()
	something()
}

// watched lets the clients act while Fleetglass is asked again and again.
func (p *player) watched(g *glass) {
	ctx, stop := context.WithCancel(p.clients.ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			p.look(ctx, g)
			pause(ctx, sampling)
		}
	})
	p.happen()
	stop()
	watching.Wait()
}

// look asks once, and notes what must never be said.
func (p *player) look(ctx context.Context, g *glass) (story, bool) {
	named, stored := p.clients.known()
	s, err := g.read(ctx, named, stored)
	if err != nil {
		if ctx.Err() == nil {
			p.fail(err)
		}
		return s, false
	}
	p.mu.Lock()
	p.last = s
	p.mu.Unlock()
	never := []claim{eachOf(slices.Collect(maps.Keys(named)), sound)}
	if p.never != nil {
		never = append(never, p.never)
	}
	if err := all(never...)(s); err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) && !p.hasFailed() { // Who stops looking has heard nothing.
		p.fail(fmt.Errorf("it must never be said: %w\n\t%s\n%s", err, s, p.events(g)))
	}
	return s, true
}

// judge asks until the broker's state was looked at long enough after the last act, and then until what may be said is said.
func (p *player) judge(g *glass) {
	defer p.over()
	if p.late != "" {
		return
	}
	settle := max(p.settle, settling)
	if err := g.settled(p.clients.ctx, p.ended); err != nil {
		p.fail(err)
		return
	}
	for until := time.Now().Add(settle); time.Now().Before(until); pause(p.clients.ctx, sampling) {
		p.look(p.clients.ctx, g)
	}
	var last error
	began := time.Now()
	for time.Since(began) < patience { // What moves on while a busy machine reads the pages agrees later.
		if s, ok := p.look(p.clients.ctx, g); ok {
			if last = p.may(s); last == nil {
				last = eachOf(slices.Collect(maps.Keys(s.tasks)), agreed)(s)
			} else if time.Since(began) > concluding {
				break
			}
			if last == nil {
				return
			}
		}
		pause(p.clients.ctx, sampling)
	}
	p.fail(fmt.Errorf("it is not said: %w\n%s", last, p.events(g)))
}

// events are those from which Fleetglass tells of the row's tasks, a line each.
func (p *player) events(g *glass) string {
	named, _ := p.clients.known()
	var lines []string
	for _, id := range named {
		var page struct {
			Data []struct {
				At, Kind, Provenance, Source, Stream, Seq, Consumer string
				Attempt                                             int
			}
		}
		if err := g.ask(p.clients.ctx, "/api/v1/tasks/"+url.PathEscape(id)+"/events", &page); err != nil {
			lines = append(lines, fmt.Sprintf("\t%s: %v", id, err))
		}
		for _, e := range page.Data {
			lines = append(lines, fmt.Sprintf("\t%s: %+v", id, e))
		}
	}
	return strings.Join(lines, "\n")
}
