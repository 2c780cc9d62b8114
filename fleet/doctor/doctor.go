package doctor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/singleflight"
)

// Config says what a doctor looks at.
type Config struct {
	JetStream jetstream.JetStream // Required.
	Rules     Rules               // Required.
	Keep      time.Duration       // Optional; default 15 s. How long a report is given again before the broker is asked anew.
	Patience  time.Duration       // Optional; default 20 s. How long one look may take.
	Now       func() time.Time    // Optional; default time.Now.
}

// Report is what one look found.
type Report struct {
	At        time.Time
	Streams   int
	Consumers int
	Findings  []Finding // The worst first.
}

// Group is what one check found, on everything that it found it on.
type Group struct {
	Code     string
	Severity Severity
	Title    string
	Why      string
	Found    []Finding
}

// Groups are the findings by check, the worst first.
func (r Report) Groups() []Group {
	var out []Group
	at := map[string]int{}
	for _, f := range r.Findings {
		i, seen := at[f.Code]
		if !seen {
			i = len(out)
			at[f.Code] = i
			out = append(out, Group{Code: f.Code, Severity: f.Severity, Title: f.Title, Why: f.Why})
		}
		out[i].Found = append(out[i].Found, f)
	}
	return out
}

// Fix is the one fix of all that was found, with <consumer> or <stream> where each names its own. It is not ok where they differ by more.
func (g Group) Fix() (pattern string, ok bool) {
	for i, f := range g.Found {
		named := f.fixPattern()
		if i > 0 && named != pattern {
			return "", false
		}
		pattern = named
	}
	return pattern, true
}

// fixPattern is the fix with the kind of the resource instead of its name.
func (f Finding) fixPattern() string {
	kind, names, _ := strings.Cut(f.Resource, " ")
	own := names[strings.LastIndexByte(names, ' ')+1:]
	words := strings.Split(f.Fix, " ")
	for i, word := range words {
		if word == own {
			words[i] = "<" + kind + ">"
		}
	}
	return strings.Join(words, " ")
}

// Doctor looks at one broker when it is asked, and gives a fresh report to all who ask meanwhile.
type Doctor struct {
	cfg   Config
	looks singleflight.Group

	mu   sync.Mutex
	last Report
}

// New validates the configuration and asks nothing.
func New(cfg Config) (*Doctor, error) {
	if cfg.JetStream == nil {
		return nil, errors.New("doctor: JetStream is required")
	}
	if err := cfg.Rules.Contract.Validate(); err != nil {
		return nil, err
	}
	if cfg.Keep <= 0 {
		cfg.Keep = 15 * time.Second
	}
	if cfg.Patience <= 0 {
		cfg.Patience = 20 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Doctor{cfg: cfg}, nil
}

// Report looks at the broker, unless somebody did just now. It errors when the broker does not answer, or ctx ends first.
func (d *Doctor) Report(ctx context.Context) (Report, error) {
	if r, fresh := d.fresh(); fresh {
		return r, nil
	}
	look := d.looks.DoChan("", func() (any, error) { return d.look(context.WithoutCancel(ctx)) })
	select {
	case <-ctx.Done():
		return Report{}, ctx.Err()
	case got := <-look:
		if got.Err != nil {
			return Report{}, got.Err
		}
		return got.Val.(Report), nil
	}
}

func (d *Doctor) fresh() (Report, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last, !d.last.At.IsZero() && d.cfg.Now().Sub(d.last.At) < d.cfg.Keep
}

func (d *Doctor) look(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Patience)
	defer cancel()
	c, err := Read(ctx, d.cfg.JetStream, d.cfg.Rules.Contract)
	if err != nil {
		return Report{}, err
	}
	r := Report{At: d.cfg.Now(), Streams: len(c.Streams), Findings: d.cfg.Rules.Examine(c)}
	for _, s := range c.Streams {
		r.Consumers += len(s.Consumers)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = r
	return r, nil
}
