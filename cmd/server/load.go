package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"fleetglass/internal/telemetry"
)

// cli is the grammar of the command line. Every command takes every setting, so that a file or an environment serves them all.
type cli struct {
	Config

	Serve       serveCmd       `cmd:"" default:"withargs" help:"Observe the fleet and serve the pages and the API. Without a command this one runs."`
	Provision   provisionCmd   `cmd:"" help:"Show how the streams and consumers of the broker differ from what Fleetglass needs. With --apply, change them."`
	Tasks       tasksCmd       `cmd:"" help:"List tasks."`
	Task        taskCmd        `cmd:"" help:"Say what became of one task, who owns it, and what to do next."`
	InFlight    inFlightCmd    `cmd:"" help:"List the messages that workers hold."`
	DLQ         dlqCmd         `cmd:"" name:"dlq" help:"List dead letters."`
	Retry       retryCmd       `cmd:"" help:"Retry a dead letter, once."`
	Alerts      alertsCmd      `cmd:"" help:"List alerts."`
	Doctor      doctorCmd      `cmd:"" help:"Name the traps in the configuration of the broker. Exits with 1 when there is a critical one or a warning (--fail-on)."`
	Rebuild     rebuildCmd     `cmd:"" help:"Compute all states and statistics anew from the stored events."`
	NewToken    tokenCmd       `cmd:"" name:"token" help:"Make, list and revoke bearer tokens."`
	Healthcheck healthcheckCmd `cmd:"" help:"Ask a running server whether it is alive. Exits with 1 when it is not."`
	Completion  completionCmd  `cmd:"" help:"Print a script that completes commands and flags in bash, zsh or fish."`
	Version     versionCmd     `cmd:"" help:"Print the version."`
}

var groups = []kong.Group{
	{Key: "start", Title: "Start"}, {Key: "http", Title: "Pages and API"}, {Key: "access", Title: "Access"}, {Key: "store", Title: "Store"},
	{Key: "broker", Title: "Broker"}, {Key: "firestore", Title: "Firestore"}, {Key: "ledger", Title: "Duplicates and reconciliation"}, {Key: "triage", Title: "Triage"},
	{Key: "alerts", Title: "Alerts"}, {Key: "demo", Title: "Demonstration"}, {Key: "log", Title: "Log, traces and profiles"},
}

// environment gives the value of a variable and whether it is set, as os.LookupEnv does.
type environment func(name string) (value string, ok bool)

// loaded is a command line that was read, and where its settings came from.
type loaded struct {
	cli     *cli
	context *kong.Context
}

// errHelp says that help was printed and nothing is left to do.
var errHelp = errors.New("help was printed")

// load reads the settings: defaults, then the file, then the environment, then flags. It returns all that is wrong at once, each
// with the name of its setting; errors about the command line itself (an unknown flag) stand alone.
func load(args []string, env environment, out io.Writer) (*loaded, error) {
	l := loaded{cli: &cli{}}
	problems := &problems{}
	helped := false
	file := fileSource{problems: problems}
	parser, err := kong.New(l.cli,
		kong.Name("fleetglass"),
		kong.Description("The looking glass of an AI-agent fleet that exchanges tasks over NATS JetStream.\n\n"+
			"tasks, task, in-flight, dlq, retry and alerts ask a running server (--server, --token). The other commands work with these settings."),
		kong.UsageOnError(), kong.Writers(out, out),
		kong.Exit(func(int) { helped = true }),
		kong.ExplicitGroups(groups),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 130}),
		kong.ValueFormatter(helpText),
		kong.PostBuild(func(k *kong.Kong) error { collectProblems(k.Model.Flags, problems); return nil }),
		kong.Resolvers(&file, environmentSource{env}),
		kong.WithBeforeResolve(func(ctx *kong.Context) error {
			file.load(configFile(ctx, env), ctx.Model.Flags)
			return nil
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("build the command line: %w", err)
	}
	if l.context, err = parser.Parse(args); err != nil && !helped {
		return nil, errors.Join(problems.err(), err)
	}
	if helped {
		return nil, errHelp
	}
	if l.cli.OTLP, err = telemetry.ReadOTLP(env); err != nil {
		problems.list = append(problems.list, err)
	}
	l.cli.validate(problems)
	l.cli.InForce = l.inForce(&file, env)
	return &l, problems.err()
}

// configFile finds the name of the configuration file, which must be known before the others can be resolved.
func configFile(ctx *kong.Context, env environment) string {
	for _, flag := range ctx.Model.Flags {
		if flag.Name == "config" {
			if name, ok := ctx.FlagValue(flag).(string); ok && name != "" {
				return name
			}
		}
	}
	name, _ := env(envName("config"))
	return name
}

// envName is the variable that sets a flag.
func envName(flag string) string {
	return "FLEETGLASS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// environmentSource resolves flags from variables.
type environmentSource struct{ env environment }

// Validate accepts any environment: other variables may begin with our prefix for other programs.
func (environmentSource) Validate(*kong.Application) error { return nil }

// Resolve gives the value of the flag's variable, or of the one that other programs read for the same (tag also); nil when neither is set.
func (s environmentSource) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if value, ok := s.env(envName(flag.Name)); ok && isSetting(flag) {
		return value, nil
	}
	if also := flag.Tag.Get("also"); also != "" {
		if value, ok := s.env(also); ok {
			return value, nil
		}
	}
	return nil, nil
}

// problems gathers everything that is wrong with the settings.
type problems struct{ list []error }

func (p *problems) add(setting, format string, args ...any) {
	p.list = append(p.list, fmt.Errorf("--%s (%s): %w", setting, envName(setting), fmt.Errorf(format, args...)))
}

func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortFunc(p.list, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(p.list...)
}

// collectProblems makes every flag report a bad value to p instead of ending the parse, so that all are found in one run.
func collectProblems(flags []*kong.Flag, p *problems) {
	for _, flag := range flags {
		if !isSetting(flag) {
			continue
		}
		collecting := collectingMapper{Mapper: flag.Mapper, setting: flag.Name, problems: p}
		flag.Mapper = collecting
		if flag.Target.Kind() == reflect.Bool {
			flag.Mapper = collectingBoolMapper{collecting}
		}
	}
}

type collectingMapper struct {
	kong.Mapper
	setting  string
	problems *problems
}

// Decode decodes as the flag's own mapper does and keeps the error.
func (m collectingMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if err := m.Mapper.Decode(ctx, target); err != nil {
		m.problems.add(m.setting, "%w", err)
	}
	return nil
}

// collectingBoolMapper keeps flags without a value possible.
type collectingBoolMapper struct{ collectingMapper }

// IsBool says that the flag needs no value.
func (collectingBoolMapper) IsBool() bool { return true }

// isSetting tells the settings from the flags of single commands: every setting belongs to a group.
func isSetting(flag *kong.Flag) bool { return flag.Group != nil }

// helpText adds the default and the variable to the help of a setting.
func helpText(v *kong.Value) string {
	text := v.Help
	if v.Flag == nil || !isSetting(v.Flag) {
		return text
	}
	if v.HasDefault && v.Default != "" {
		text += " Default " + v.Default + "."
	}
	return text + " ($" + envName(v.Flag.Name) + ")"
}

// effective lists every setting with its value for the log, with nothing that may be a secret.
func (l *loaded) effective() slog.Attr {
	var attrs []any
	for _, flag := range l.context.Model.Flags {
		if isSetting(flag) {
			attrs = append(attrs, slog.String(flag.Name, shownValue(flag.Target)))
		}
	}
	return slog.Group("settings", attrs...)
}
