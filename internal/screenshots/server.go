package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"
)

// server is a Fleetglass of its own, on free ports and with data of its own.
type server struct {
	pages, agents string // Addresses.
	process       *exec.Cmd
	data          string
}

var serving = regexp.MustCompile(`msg=serving pages=(\S+) agents=(\S+)`)

// startPatience is how long a start may take.
const startPatience = 30 * time.Second

func start(ctx context.Context, binary string, args []string) (*server, error) {
	data, err := os.MkdirTemp("", "screenshots")
	if err != nil {
		return nil, err
	}
	args = append([]string{"--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data-dir", data}, args...)
	s := &server{process: exec.CommandContext(ctx, binary, args...), data: data} //nolint:gosec // The program that make built.
	log, err := s.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.process.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w (make build makes it)", binary, err)
	}
	found := make(chan []string, 1)
	go func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if m := serving.FindStringSubmatch(lines.Text()); m != nil {
				found <- m
			}
		}
	}()
	select {
	case m := <-found:
		s.pages, s.agents = m[1], m[2]
		return s, nil
	case <-time.After(startPatience):
		s.stop()
		return nil, errors.New("the server did not say that it serves")
	}
}

// stop ends the server and removes its data.
func (s *server) stop() {
	_ = s.process.Process.Signal(syscall.SIGTERM)
	_ = s.process.Wait()
	_ = os.RemoveAll(s.data)
}
