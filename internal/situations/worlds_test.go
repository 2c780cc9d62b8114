//go:build linux

package situations

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// worldsWanted is how many random worlds are played: few in every run of the tests, thousands in the long form.
var worldsWanted = flag.Int("worlds", 0, "how many random worlds are played; default 60, and 2,000 where FLEETGLASS_TORTURE=long")

// worldsSeed plays the same worlds again. What the broker and the clock do differs all the same.
var worldsSeed = flag.Uint64("worlds-seed", 0, "seed of the random worlds; default the time")

// worldsFirst leaves out the worlds of the seed before it. Worlds are played in groups: it is a multiple of the size of one.
var worldsFirst = flag.Int("worlds-first", 0, "number of the first random world that is played, a multiple of 120")

// withForgery lets agents acknowledge messages of their consumer that they were never given. What that may lead to is in docs/situations.md.
var withForgery = flag.Bool("worlds-forgery", false, "let agents of random worlds forge acknowledgements")

// allOutside keeps the records of all worlds in Firestore. Without it those of every second three groups are there.
var allOutside = flag.Bool("worlds-firestore", false, "keep the idempotency records of all random worlds in Firestore")

// allTwofold lets two Fleetglasses on one Postgres look at all worlds. Without it they look at every second six groups.
var allTwofold = flag.Bool("worlds-twofold", false, "let two Fleetglasses that share a Postgres look at all random worlds")

// worldsAtOnce is how many worlds of a land are played at the same time.
const worldsAtOnce = 20

// countries are the lands of random worlds: one of each retention, and queues whose limits or ages remove messages.
var countries = []land{
	{name: "work queue", streams: []jetstream.StreamConfig{tasksStream(jetstream.WorkQueuePolicy)}},
	{name: "limits with a mirror and a stream that gathers", streams: []jetstream.StreamConfig{
		tasksStream(jetstream.LimitsPolicy),
		{Name: "TASKS_MIRROR", Mirror: &jetstream.StreamSource{Name: "TASKS"}},
		{Name: "TASKS_GATHERED", Sources: []*jetstream.StreamSource{{Name: "TASKS"}}},
	}},
	{name: "interest", streams: []jetstream.StreamConfig{tasksStream(jetstream.InterestPolicy)}},
	{name: "few of a subject", streams: []jetstream.StreamConfig{
		tasksStream(jetstream.WorkQueuePolicy, func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 2 }),
	}},
	{name: "a bounded age", streams: []jetstream.StreamConfig{
		tasksStream(jetstream.WorkQueuePolicy, func(c *jetstream.StreamConfig) { c.MaxAge, c.AllowMsgTTL = 4*time.Second, true }),
	}},
	{name: "times to live", streams: []jetstream.StreamConfig{
		tasksStream(jetstream.WorkQueuePolicy, func(c *jetstream.StreamConfig) { c.AllowMsgTTL = true }),
	}},
}

func tasksStream(r jetstream.RetentionPolicy, change ...func(*jetstream.StreamConfig)) jetstream.StreamConfig {
	cfg := jetstream.StreamConfig{Name: "TASKS", Subjects: []string{allTasks}, Retention: r, Duplicates: 2 * time.Second, AllowDirect: true}
	for _, f := range change {
		f(&cfg)
	}
	return cfg
}

// TestRandomWorldsAreToldTruthfully lets plain clients do random things, and compares what is said with what they know.
func TestRandomWorldsAreToldTruthfully(t *testing.T) {
	t.Parallel()
	if _, err := program(); err != nil {
		t.Fatal(err)
	}
	wanted, seed := *worldsWanted, *worldsSeed
	if wanted == 0 {
		wanted = 60
		if os.Getenv("FLEETGLASS_TORTURE") == "long" {
			wanted = 2000
		}
	}
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("%d worlds, -worlds-seed %d", wanted, seed)
	census := &census{verdicts: map[string]int{}, decided: map[string]int{}}
	for first := *worldsFirst; first < wanted; first += worldsAtOnce * len(countries) {
		until := min(wanted, first+worldsAtOnce*len(countries))
		t.Run(fmt.Sprintf("from %d", first), func(t *testing.T) { playWorlds(t, first, until, seed, census) }) // Its programs end with it.
	}
	census.log(t)
}

// playWorlds plays some worlds at once, the lands and all modes in turn.
func playWorlds(t *testing.T, from, to int, seed uint64, census *census) {
	t.Helper()
	group := from / (worldsAtOnce * len(countries))
	m := []mode{live, afterwards, interrupted}[group%3]
	scenes, unheard := map[string]*scene{}, map[string]*atomic.Bool{}
	lives := map[*player]*life{}
	for n := from; n < to; n++ {
		l := countries[n%len(countries)]
		l.outside, l.twofold = *allOutside || group/3%2 == 1, *allTwofold || group/6%2 == 1
		s := scenes[l.name]
		if s == nil {
			s = &scene{mode: m, world: newWorld(t, l)}
			scenes[l.name], unheard[l.name] = s, &atomic.Bool{}
			s.judge = func(g *glass) {
				if err := balances(t.Context(), g, s.players, lives); err != nil {
					t.Errorf("worlds on %s, %s: %v", l.name, m, err)
				}
				for _, p := range s.players {
					p.clients.glass = g
					p.does(lives[p].lastAsked)
				}
			}
		}
		w := &life{mode: m, random: rand.New(rand.NewPCG(seed, uint64(n))), land: l, unheard: unheard[l.name], auditors: map[string]jetstream.Consumer{}, said: map[work]saying{}, sayings: map[string]int{}, repeats: map[string]int{}, keyed: map[string]int{}, redone: map[string]int{}, swallowed: map[string]int{}}
		p := &player{heading: "worlds", agent: "world" + strconv.Itoa(n), situation: situation{
			name: fmt.Sprintf("world %d on %s, %s", n, l.name, m), act: w.live, may: w.agrees, never: w.contradicted,
		}}
		p.over = func() {
			if w.unexplained(p.last) {
				w.trail = p.events(p.last.glass)
			}
		}
		s.players, lives[p] = append(s.players, p), w
	}
	all := slices.Collect(maps.Values(scenes))
	prepare(t, all)
	for _, s := range all {
		if m != live {
			break
		}
		told := s.world.glass.follow(t)
		for _, p := range s.players {
			lives[p].feed = told
		}
	}
	playScenes(t, m, all)
	for p, w := range lives {
		if p.failed != nil {
			t.Errorf("%s: %v\nwhat happened:\n\t%s\nin the end:\n\t%s", p.name, p.failed, strings.Join(append(w.diary, w.outlook), "\n\t"), p.last)
		}
		census.take(p.name, w, p.last)
	}
}

// decisionKinds are what somebody decides about dead messages in [manyWorlds], and what came of it.
var decisionKinds = []string{
	"retry", "edited", "retry later", "cancelled", "discard", "defer", "reopen", "published", "undone", "undone: retry", "many by id: retry", "many by id: discard",
	"many by id: defer", "many by id: reopen", "many by filter: retry", "many by filter: discard", "many by filter: defer",
}

// manyWorlds is in how many worlds each kind of decision comes up.
const manyWorlds = 1000

// census counts what was said in the end.
type census struct {
	worlds   int
	messages int
	decided  map[string]int // What Fleetglass was asked about messages and granted, and what it published then.
	verdicts map[string]int // By state, or for those that are unknown by their reason.
	unnamed  []string       // The worlds of which a message is unknown for no reason that the clients can name.
}

func (c *census) take(name string, w *life, s story) {
	c.worlds++
	for _, d := range w.decided {
		c.decided[d.kind]++
	}
	c.decided[handedBack] += w.released
	for _, m := range w.letters {
		if m.byGlass {
			c.decided["published"]++
		}
		c.messages++
		s.task = m.task
		said := s.messageAt(m.letter)
		switch {
		case said == nil && m.unwanted:
			c.verdicts["not known: nobody took it, so its stream kept nothing"]++
		case said == nil && w.unheard.Load():
			c.verdicts["not known: its stream republished nothing"]++
		case said == nil && !m.expires.IsZero():
			c.verdicts["not known: its captured line went with its time to live"]++
		case said == nil:
			c.verdicts["not known"]++
		case said.State == "outcome_unknown":
			why := m.whyUnknown()
			c.verdicts["outcome_unknown: "+why]++
			if why == unnamed {
				c.unnamed = append(c.unnamed, fmt.Sprintf("%s, %s:%d: what happened:\n\t%s\nin the end:\n\t%s\n%s", name, m.stream, m.seq, strings.Join(w.diary, "\n\t"), s, w.trail))
			}
		default:
			c.verdicts[said.State]++
		}
	}
}

// unexplained reports whether a message is called unknown and the clients do not know why.
func (w *life) unexplained(s story) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.letters, func(m *mail) bool {
		s.task = m.task
		said := s.messageAt(m.letter)
		return said != nil && said.State == "outcome_unknown" && m.whyUnknown() == unnamed
	})
}

func (c *census) log(t *testing.T) {
	t.Helper()
	unknown := 0
	for _, name := range slices.Sorted(maps.Keys(c.verdicts)) {
		t.Logf("%5d %s", c.verdicts[name], name)
		if strings.HasPrefix(name, "outcome_unknown") {
			unknown += c.verdicts[name]
		}
	}
	t.Logf("decided about messages: %v", c.decided)
	for _, kind := range append(slices.Clip(decisionKinds), handedBack) {
		if c.worlds >= manyWorlds && c.decided[kind] == 0 {
			t.Errorf("in %d worlds nobody decided: %s", c.worlds, kind)
		}
	}
	t.Logf("%d of %d messages are called unknown", unknown, c.messages)
	for _, world := range c.unnamed {
		t.Logf("unknown, and no client knows why: %s", world)
	}
}
