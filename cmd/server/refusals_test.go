package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fleetglass/internal/dirlock"
	"fleetglass/internal/embednats"
	"fleetglass/internal/testkit"
)

// Whoever starts the program for the first time reads from the error what to change.
func TestACommandThatCannotBeginSaysWhatToChange(t *testing.T) {
	t.Parallel()
	guarded, err := embednats.Start(embednats.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Password: "kept-away"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guarded.Close() })
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "fleetglass.db"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	holder, err := dirlock.Take(dir, "fleetglass.lock")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Close() })
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"provision --nats-url nats://127.0.0.1:1", 1, "no server answers there"},
		{"provision --nats-url " + guarded.URL(), 1, "--nats-user and --nats-password, or --nats-creds"},
		{"provision --nats-user fleet --nats-password " + strings.Repeat("x", 5000) + " --nats-url " + guarded.URL(), 1, "a JWT that lists permissions is longer"},
		{"rebuild --data-dir " + dir, 1, "is in use by another process; stop that one first, or name another directory"},
		{"taks", 2, "there is no command taks; fleetglass --help lists the commands"},
		{"alerts what", 2, "unexpected argument what; fleetglass alerts --help says what it takes"},
		{"task", 2, "expected \"<id>\"; fleetglass task --help says what it takes"},
	} {
		var out bytes.Buffer
		if code := run(t.Context(), strings.Fields(tt.args), vars(), &out, &out); code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%s: exit code %d, %q; want %d and %q", tt.args, code, out.String(), tt.code, tt.want)
		}
	}
}

// A stream reserves its max_bytes, however empty it is.
func TestABrokerWithoutRoomForTheStreamsSaysWhichLimitToRaise(t *testing.T) {
	t.Parallel()
	srv := testkit.ConfiguredBroker(t, fmt.Sprintf(`listen: "127.0.0.1:-1", jetstream { store_dir: %q, max_file_store: 1GB }`, t.TempDir()))
	var out bytes.Buffer
	code := run(t.Context(), []string{"provision", "--apply", "--nats-url", srv.ClientURL()}, vars(), &out, &out)
	if want := "reserve their max_bytes: raise max_file_store of the server, or the limit of the account"; code != 1 || !strings.Contains(out.String(), want) {
		t.Errorf("exit code %d, %q; want 1 and %q", code, out.String(), want)
	}
}

func TestAQuestionWithoutAnAnswerNamesThePermissions(t *testing.T) {
	t.Parallel()
	asked := fmt.Errorf("plan: CONSUMER.NAMES.OBS_PUB: %w", context.DeadlineExceeded)
	if err := unanswered(asked); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "permissions of operator") {
		t.Errorf("got %v", err)
	}
	if err := errors.New("plan: it differs"); !errors.Is(unanswered(err), err) || strings.Contains(unanswered(err).Error(), "operator") {
		t.Errorf("got %v", unanswered(err))
	}
}
