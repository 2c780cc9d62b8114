// Command fleetglass observes an AI-agent fleet on NATS JetStream and serves what it sees as pages and as a JSON API.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is set when the program is linked.
var version = "dev"

func main() {
	env := environment(os.Environ())
	shareMemory(env)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], env, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run does what the command line says and returns the exit code: 0 in good order, 1 for a failure, 2 for a wrong configuration.
func run(ctx context.Context, args []string, env environment, stdout, stderr io.Writer) int {
	stdout, stderr = &plainWriter{to: stdout}, &plainWriter{to: stderr}
	l, err := load(args, env, stdout)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		_, _ = fmt.Fprintf(stderr, "fleetglass: the command line or the settings are wrong:\n%s\n", indent(err.Error()))
		return 2
	}
	for _, note := range l.notes {
		_, _ = fmt.Fprintf(stderr, "fleetglass: %s\n", note)
	}
	l.context.BindTo(ctx, (*context.Context)(nil))
	if err := l.context.Run(l, &terminal{out: stdout, err: stderr}); err != nil {
		_, _ = fmt.Fprintf(stderr, "fleetglass: %v\n", err)
		return 1
	}
	return 0
}
