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

// cli is the grammar of the command line. Every command takes every setting, so that a file or an environment serves them all. The tag uses
// names those that the help of a command lists, by their own names or by those of their groups; without the tag it lists all.
type cli struct {
	Config

	Serve       serveCmd       `cmd:"" default:"withargs" help:"Observe the fleet and serve the pages and the API. Without a command this one runs."`
	Provision   provisionCmd   `cmd:"" uses:"config,broker,dlq-per-agent" help:"Show how the streams and consumers of the broker differ from what Fleetglass needs. With --apply, change them."`
	Tasks       tasksCmd       `cmd:"" uses:"config,listen,tls-cert,token" help:"List tasks."`
	Task        taskCmd        `cmd:"" uses:"config,listen,tls-cert,token" help:"Say what became of one task, who owns it, and what to do next."`
	Events      eventsCmd      `cmd:"" uses:"config,listen,tls-cert,token" help:"List what happened to one task, event by event."`
	InFlight    inFlightCmd    `cmd:"" uses:"config,listen,tls-cert,token" help:"List the messages that workers hold."`
	DLQ         dlqCmd         `cmd:"" uses:"config,listen,tls-cert,token" name:"dlq" help:"List dead letters."`
	Retry       retryCmd       `cmd:"" uses:"config,listen,tls-cert,token" help:"Retry a dead letter, once."`
	Operations  operationsCmd  `cmd:"" uses:"config,listen,tls-cert,token" help:"List what was decided about dead letters and messages in flight, and how far it is."`
	Cancel      cancelCmd      `cmd:"" uses:"config,listen,tls-cert,token" help:"Cancel a retry that waits, or an action on many dead letters that has not ended. Exits with 1 where nothing was cancelled."`
	Undo        undoCmd        `cmd:"" uses:"config,listen,tls-cert,token" help:"Take back an action on many dead letters that has ended: open them again, and cancel its retries that wait. Exits with 1 where nothing was taken back."`
	Alerts      alertsCmd      `cmd:"" uses:"config,listen,tls-cert,token" help:"List alerts."`
	Doctor      doctorCmd      `cmd:"" uses:"config,broker,dlq-per-agent,token" help:"Name the traps in the configuration of the broker. Exits with 1 when there is a critical one or a warning (--fail-on)."`
	Rebuild     rebuildCmd     `cmd:"" uses:"config,data-dir,database-url,retention" help:"Compute all states and statistics anew from the stored events. Stop the server first."`
	NewToken    tokenCmd       `cmd:"" uses:"config,auth-tokens-file" name:"token" help:"Make, list and revoke bearer tokens."`
	Healthcheck healthcheckCmd `cmd:"" uses:"config,listen,tls-cert" help:"Ask a running server whether it is alive. Exits with 1 when it is not."`
	Completion  completionCmd  `cmd:"" uses:"" help:"Print a script that completes commands and flags in bash, zsh or fish."`
	Version     versionCmd     `cmd:"" uses:"" help:"Print the version."`
}

var groups = []kong.Group{
	{Key: "start", Title: "Start"}, {Key: "http", Title: "Pages and API"}, {Key: "access", Title: "Access"}, {Key: "store", Title: "Store"},
	{Key: "broker", Title: "Broker"}, {Key: "firestore", Title: "Firestore"}, {Key: "ledger", Title: "Duplicates and reconciliation"}, {Key: "triage", Title: "Triage"},
	{Key: "alerts", Title: "Alerts"}, {Key: "demo", Title: "Demonstration"}, {Key: "log", Title: "Log, traces and profiles"},
}

// loaded is a command line that was read, and where its settings came from.
type loaded struct {
	cli     *cli
	context *kong.Context
	notes   []string // What is odd about the settings, and not wrong.
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
			"tasks, task, events, in-flight, dlq, retry, operations, cancel and alerts ask a running server (--server, --token). Every command accepts every setting below; "+
			"the help of a command lists those that it uses."),
		kong.UsageOnError(), kong.Writers(out, out),
		kong.Exit(func(int) { helped = true }),
		kong.ExplicitGroups(groups),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, FlagsLast: true, WrapUpperBound: 130}),
		kong.Help(printHelp),
		kong.ValueFormatter(helpText),
		kong.PostBuild(func(k *kong.Kong) error {
			collectProblems(k.Model.Flags, problems)
			l.notes = env.findUnknown(k.Model.Node, problems)
			return nil
		}),
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
		return nil, errors.Join(problems.err(), explainParse(err))
	}
	if helped {
		return nil, errHelp
	}
	if l.cli.OTLP, err = telemetry.ReadOTLP(env.lookup); err != nil {
		problems.list = append(problems.list, err)
	}
	l.cli.validate(problems)
	if l.context.Command() != "token create" { // It makes the file.
		checkFile(problems, "auth-tokens-file", l.cli.TokensFile)
	}
	if l.context.Command() == "serve" {
		l.cli.validateFiles(problems)
		if l.cli.Reader != "" && !l.cli.ReadOnly {
			problems.add("reader", "needs --read-only: one Fleetglass decides about a fleet, the one without a name")
		}
	}
	l.cli.InForce = l.inForce(&file, env)
	return &l, problems.err()
}

// explainParse adds to what the command line lacks, or has too much, where to read what it takes.
func explainParse(err error) error {
	var wrong *kong.ParseError
	lacks := strings.HasPrefix(err.Error(), "expected ") || strings.HasPrefix(err.Error(), "missing flags: ")
	if !errors.As(err, &wrong) || wrong.Context == nil || !lacks && !strings.HasPrefix(err.Error(), "unexpected argument ") {
		return err
	}
	command, _, _ := strings.Cut(wrong.Context.Command(), " <")
	if word, found := strings.CutPrefix(err.Error(), "unexpected argument "); found && !slices.Contains(wrong.Context.Args, command) {
		return fmt.Errorf("there is no command %s; fleetglass --help lists the commands", word)
	}
	return fmt.Errorf("%w; fleetglass %s --help says what it takes", err, command)
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
	name, _ := env.lookup(envName("config"))
	return name
}

// environmentSource resolves flags from variables.
type environmentSource struct{ env environment }

// Validate has nothing to add: findUnknown says what is wrong with the names.
func (environmentSource) Validate(*kong.Application) error { return nil }

// Resolve gives the value of the flag's variable, or of the one that other programs read for the same (tag also); nil when neither is set. An
// empty variable is not set: templates write one for each setting.
func (s environmentSource) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if value, _ := s.env.lookup(envName(flag.Name)); value != "" && isSetting(flag) {
		return value, nil
	}
	if also := flag.Tag.Get("also"); also != "" {
		if value, _ := s.env.lookup(also); value != "" {
			return value, nil
		}
	}
	return nil, nil
}

// problems gathers everything that is wrong with the settings.
type problems struct {
	list   []error
	unread map[string]bool // Settings whose value cannot be read. What they hold instead was set by nobody.
}

// add says what is wrong with a setting. Nothing more is said of one that could not be read.
func (p *problems) add(setting, format string, args ...any) {
	if !p.unread[setting] {
		p.list = append(p.list, fmt.Errorf("--%s (%s): %w", setting, envName(setting), fmt.Errorf(format, args...)))
	}
}

// addUnread says why the value of a setting cannot be read.
func (p *problems) addUnread(setting string, err error) {
	p.add(setting, "%w", err)
	if p.unread == nil {
		p.unread = map[string]bool{}
	}
	p.unread[setting] = true
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
		if flag.Tag.Type == "path" && !flag.HasDefault {
			collecting.Mapper = optionalPath{flag.Mapper}
		}
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
	given := ctx.Scan.Peek()
	if err := m.Mapper.Decode(ctx, target); err != nil {
		m.problems.addUnread(m.setting, m.unreadable(given, target.Kind(), err))
	}
	return nil
}

// unreadable says what is wrong with a value. The errors of kong name types of Go.
func (m collectingMapper) unreadable(given kong.Token, kind reflect.Kind, err error) error {
	switch {
	case given.IsEOL() || !given.IsValue():
		return fmt.Errorf("has no value; write one that begins with a dash as --%s=VALUE", m.setting)
	case kind == reflect.Bool:
		return fmt.Errorf("%q is neither true nor false", given)
	case kind == reflect.Int:
		return fmt.Errorf("%q is not a whole number", given)
	case kind == reflect.Float64:
		return fmt.Errorf("%q is not a number", given)
	}
	return err
}

// optionalPath reads the name of a file that need not be given. An empty name stays empty; by itself it would be the directory that the program runs in.
type optionalPath struct{ kong.Mapper }

// Decode decodes a name as the flag's own mapper does.
func (m optionalPath) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if given := ctx.Scan.Peek(); given.IsValue() && given.String() == "" {
		ctx.Scan.Pop()
		target.SetString("")
		return nil
	}
	return m.Mapper.Decode(ctx, target)
}

// collectingBoolMapper keeps flags without a value possible.
type collectingBoolMapper struct{ collectingMapper }

// IsBool says that the flag needs no value.
func (collectingBoolMapper) IsBool() bool { return true }

// isSetting tells the settings from the flags of single commands: every setting belongs to a group.
func isSetting(flag *kong.Flag) bool { return flag.Group != nil }

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
