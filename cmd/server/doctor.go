package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet/demo"
	"fleetglass/fleet/doctor"
)

type doctorCmd struct {
	FailOn doctor.Severity `enum:"critical,warning,info" default:"warning" help:"Exit with 1 when a finding is at least this severe: critical, warning or info."`
	Server string          `also:"FLEETGLASS_SERVER" placeholder:"URL" help:"Ask the running server at this address instead of the broker. FLEETGLASS_SERVER sets it too."`
	Output string          `short:"o" enum:"text,json" default:"text" help:"Form of the answer: text or json."`
}

// Validate refuses an address that no server can have.
func (c doctorCmd) Validate() error { return checkServer(c.Server) }

// errFindings says that the doctor found what --fail-on names.
var errFindings = errors.New("the configuration of the broker has traps")

// Run names the traps in the configuration of the broker. It changes nothing.
func (c doctorCmd) Run(ctx context.Context, l *loaded, t *terminal) error {
	examine := examineBroker
	if c.Server != "" {
		examine = c.askServer
	}
	report, err := examine(ctx, l)
	if err != nil {
		return err
	}
	if err := c.print(t.out, report); err != nil {
		return err
	}
	for _, f := range report.Findings {
		if f.Severity.AtLeast(c.FailOn) {
			return errFindings
		}
	}
	return nil
}

// examineBroker looks at the broker of the settings; where it is embedded, at that of a program that runs with these settings.
func examineBroker(ctx context.Context, l *loaded) (doctor.Report, error) {
	cfg := l.cli.Config
	if cfg.Embedded() {
		cfg.NATSURL = []URL{URL("nats://" + cfg.NATSListen)}
	}
	nc, err := connect(cfg, nil, nil)
	if err != nil {
		return doctor.Report{}, err
	}
	defer nc.Close()
	js, err := newJetStream(nc, cfg.NATSDomain)
	if err != nil {
		return doctor.Report{}, err
	}
	d, err := newDoctor(l.cli.Config, js, time.Now)
	if err != nil {
		return doctor.Report{}, err
	}
	return d.Report(ctx)
}

// askServer asks a running server what it found.
func (c doctorCmd) askServer(ctx context.Context, l *loaded) (doctor.Report, error) {
	server, err := remote{Server: c.Server}.client(l)
	if err != nil {
		return doctor.Report{}, err
	}
	answer, err := server.Doctor(ctx)
	if err != nil {
		return doctor.Report{}, advised(err)
	}
	report := doctor.Report{At: answer.AsOf, Streams: answer.Streams, Consumers: answer.Consumers}
	for _, f := range answer.Data {
		report.Findings = append(report.Findings, doctor.Finding{
			Code: f.Code, Severity: doctor.Severity(f.Severity), Title: f.Title, Resource: f.Resource, What: f.What, Why: f.Why, Fix: f.Fix,
		})
	}
	return report, nil
}

func (c doctorCmd) print(w io.Writer, r doctor.Report) error {
	if c.Output == "json" {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(append([]doctor.Finding{}, r.Findings...)) // Never null.
	}
	for _, g := range r.Groups() {
		if _, err := fmt.Fprintln(w, told(g)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%s on %s and %s\n", counted(len(r.Findings), "finding"), counted(r.Streams, "stream"), counted(r.Consumers, "consumer"))
	return err
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// told is what was found of one kind: the reason once, then each place.
func told(g doctor.Group) string {
	if len(g.Found) == 1 {
		f := g.Found[0]
		return fmt.Sprintf("%s  %s: %s (%s)\n  seen  %s\n  why   %s\n  fix   %s\n", f.Severity, f.Resource, f.Title, f.Code, f.What, f.Why, f.Fix)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s (%s), %d times\n  why   %s\n", g.Severity, g.Title, g.Code, len(g.Found), g.Why)
	fix, one := g.Fix()
	if one {
		fmt.Fprintf(&b, "  fix   %s\n", fix)
	}
	for _, f := range g.Found {
		fmt.Fprintf(&b, "  seen  %s: %s\n", f.Resource, f.What)
		if !one {
			fmt.Fprintf(&b, "  fix   %s\n", f.Fix)
		}
	}
	return b.String()
}

func newDoctor(cfg Config, js jetstream.JetStream, now func() time.Time) (*doctor.Doctor, error) {
	rules := doctor.Rules{Contract: contract(cfg), Shards: cfg.CaptureShards, Heartbeat: time.Duration(cfg.WorkerHeartbeat)}
	if cfg.Embedded() {
		rules.Consumers = -1 // The embedded broker has no limit.
	}
	if cfg.Demo {
		rules.Heartbeat = demo.Heartbeat
	}
	return doctor.New(doctor.Config{JetStream: js, Rules: rules, Now: now})
}
