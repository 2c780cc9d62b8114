package demo

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"fleetglass/fleet"
)

// Story is everything that is decided about a task before it is published.
type Story struct {
	N         int
	ID        string
	Agent     string
	Type      string
	Title     string
	Payload   map[string]any
	Model     string
	Trace     string // W3C trace context.
	Fate      Fate
	Reason    string        // Why it fails, where it fails aloud.
	Publishes int           // How often it is published.
	Work      time.Duration // How long the attempt that succeeds takes.
	NakDelay  time.Duration // For which it is handed back.
	Pause     time.Duration // From the publish of the task before to this one, at one task a second.
}

// Tell decides about task n. It is pure: the same seed and n always give the same story.
func Tell(seed uint64, n int) Story {
	r := dice(seed, n, "story")
	s := Story{N: n, Fate: fateOf(seed, n), Publishes: 1, Model: models[r.IntN(len(models))], Trace: trace(seed, n)}
	a := agents[r.IntN(len(agents))]
	switch s.Fate {
	case FateOrphan:
		a = missing
	case FateNakExhausted: // Only a report says why a task was handed back.
		a = reporting(r)
	}
	kind := a.kinds[r.IntN(len(a.kinds))]
	s.Agent, s.Type = a.name, kind.name
	s.Title, s.Payload = kind.write(r)
	s.ID = fmt.Sprintf("%s-%s-%d", a.name, strings.ReplaceAll(kind.name, "_", "-"), n)
	s.Work = time.Duration(float64(400*time.Millisecond) * math.Exp(0.6*r.NormFloat64()))
	s.NakDelay = time.Duration(500+r.IntN(1500)) * time.Millisecond
	s.Pause = time.Duration((0.2 + 1.6*r.Float64()) * float64(time.Second))
	switch s.Fate {
	case FateSlow:
		s.Work = time.Duration(3500+r.IntN(6000)) * time.Millisecond
	case FateDuplicate:
		s.Publishes = 2 + r.IntN(2)
	case FateNak, FateNakExhausted:
		s.Reason = pick(r, transient)
	case FateTerminated:
		s.Reason = pick(r, permanent)
	case FateRecoverable:
		s.Reason = pick(r, recoverable)
	case FateOverflow:
		s.Reason = pick(r, overflow)
	}
	return s
}

// numberOf is the n in the id of a demo task.
func numberOf(taskID string) (int, bool) {
	i := strings.LastIndexByte(taskID, '-')
	n, err := strconv.Atoi(taskID[i+1:])
	return n, err == nil && n >= 0 && i > 0
}

// dice is a source of chance that depends on the seed, n and what it is for, and on nothing else.
func dice(seed uint64, n int, purpose string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(seed, h.Sum64()^uint64(n)*0x9e3779b97f4a7c15))
}

func pick(r *rand.Rand, from []failure) string {
	total := 0
	for _, f := range from {
		total += f.times
	}
	at := r.IntN(total)
	for _, f := range from {
		if at -= f.times; at < 0 {
			if strings.Contains(f.text, "%s") {
				return fmt.Sprintf(f.text, hexText(r, 4))
			}
			return f.text
		}
	}
	return ""
}

func hexText(r *rand.Rand, bytes int) string {
	b := make([]byte, bytes)
	for i := range b {
		b[i] = byte(r.UintN(256))
	}
	return hex.EncodeToString(b)
}

func trace(seed uint64, n int) string {
	id := fleet.Key("trace", strconv.FormatUint(seed, 10), strconv.Itoa(n))
	return "00-" + id + "-" + id[8:24] + "-01"
}

func (s Story) task(createdAt time.Time) fleet.NewTask {
	return fleet.NewTask{
		ID: s.ID, Agent: s.Agent, Type: s.Type, Payload: s.Payload, CreatedAt: createdAt, Model: s.Model, TokenBudget: 50_000, MaxRetries: 3,
		TraceParent: s.Trace, Publisher: giverOf(s.Agent, s.Type),
	}
}
