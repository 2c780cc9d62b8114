package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

// stopper ends a context when a text has been written.
type stopper struct {
	text string
	stop context.CancelFunc
	all  bytes.Buffer
}

func (s *stopper) Write(p []byte) (int, error) {
	s.all.Write(p)
	if strings.Contains(s.all.String(), s.text) {
		s.stop()
	}
	return len(p), nil
}

// Somebody who stops the demonstration while it sets itself up did nothing wrong, and neither did the program.
func TestAStopDuringSetUpIsInGoodOrder(t *testing.T) {
	t.Parallel()
	for after, says := range map[string]string{"starting": "stopped before it was set up", "serving": "msg=stopped"} {
		t.Run(after, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			out := &stopper{text: "msg=" + after + " ", stop: stop}
			args := []string{"--demo", "--listen", "127.0.0.1:0", "--nats-listen", "127.0.0.1:0", "--data-dir", t.TempDir()}
			if code := run(ctx, args, vars(), io.Discard, out); code != 0 {
				t.Errorf("exit code %d, want 0", code)
			}
			if !strings.Contains(out.all.String(), says) {
				t.Errorf("the log does not say %q:\n%s", says, &out.all)
			}
		})
	}
}
