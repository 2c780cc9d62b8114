package embednats_test

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/embednats"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, cfg embednats.Config) *embednats.Server {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	srv, err := embednats.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Close() })
	return srv
}

func dial(t *testing.T, url string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func TestClientsOutsideTheProcessNeedNoCredentialsOnLoopback(t *testing.T) {
	srv := start(t, embednats.Config{Listen: "127.0.0.1:0"})
	inside, err := srv.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer inside.Close()
	got, err := inside.SubscribeSync("hello")
	if err != nil {
		t.Fatal(err)
	}
	if err := inside.Flush(); err != nil {
		t.Fatal(err)
	}
	outside := dial(t, srv.URL())
	if err := outside.Publish("hello", []byte("from outside")); err != nil {
		t.Fatal(err)
	}
	msg, err := got.NextMsg(5 * time.Second)
	if err != nil || string(msg.Data) != "from outside" {
		t.Fatalf("inside got %v, %v", msg, err)
	}
	if n := outside.MaxPayload(); n != 8<<20 {
		t.Errorf("max payload %d, want 8 MiB", n)
	}
}

func TestEveryPublishAttemptIsImportedUnderObsRaw(t *testing.T) {
	for _, prefix := range []string{"genbrain", "acme.prod"} {
		contract := fleet.NewContract(prefix)
		srv := start(t, embednats.Config{Contract: contract, Listen: "127.0.0.1:0"})
		nc := dial(t, srv.URL())
		raw, err := nc.SubscribeSync("obs.raw.>")
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.Publish(contract.TaskSubject("cto", "code_review.go"), []byte("x")); err != nil {
			t.Fatal(err)
		}
		msg, err := raw.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatalf("prefix %s: %v", prefix, err)
		}
		if want := "obs.raw.cto.code_review.go"; msg.Subject != want {
			t.Errorf("prefix %s: imported as %q, want %q", prefix, msg.Subject, want)
		}
		if back, ok := contract.SubjectOfCapture(msg.Subject); !ok || back != contract.TaskSubject("cto", "code_review.go") {
			t.Errorf("prefix %s: back to %q, %v", prefix, back, ok)
		}
	}
}

func TestATakenPortMovesTheListenerAndSaysSo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	srv := start(t, embednats.Config{Listen: taken.Addr().String()})
	moved, wanted := srv.Moved()
	if !moved || wanted != taken.Addr().String() || strings.HasSuffix(srv.URL(), wanted) {
		t.Errorf("moved %v, wanted %q, url %q", moved, wanted, srv.URL())
	}
	dial(t, srv.URL())
}

func TestASecondStartContinuesAndTwoAtOnceAreRefused(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	first := start(t, embednats.Config{Dir: dir})
	nc, err := first.Connect()
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(ctx, "s", []byte("kept")); err != nil {
		t.Fatal(err)
	}
	if _, err := embednats.Start(embednats.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("second server on the same directory: %v", err)
	}
	nc.Close()
	for range 2 {
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
	}
	second := start(t, embednats.Config{Dir: dir})
	nc, err = second.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err = jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(ctx, "S")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(ctx, 1)
	if err != nil || string(msg.Data) != "kept" {
		t.Errorf("after restart: %v, %v", msg, err)
	}
}

func TestWithoutListenOnlyThisProcessConnects(t *testing.T) {
	srv := start(t, embednats.Config{})
	if srv.URL() != "" {
		t.Errorf("url %q, want none", srv.URL())
	}
	nc, err := srv.Connect()
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

func TestAPasswordIsDemandedOfEveryClient(t *testing.T) {
	srv := start(t, embednats.Config{Listen: "127.0.0.1:0", Password: `se"cret\ #{}`})
	if nc, err := nats.Connect(srv.URL()); err == nil {
		nc.Close()
		t.Error("connected without a password")
	}
	dial(t, srv.URL(), nats.UserInfo("fleet", `se"cret\ #{}`))
	nc, err := srv.Connect()
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}

func TestAQuietServerLogsNothingAboveDebug(t *testing.T) {
	var out strings.Builder
	srv := start(t, embednats.Config{Listen: "127.0.0.1:0", Logger: slog.New(slog.NewTextHandler(&out, nil))})
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 {
		t.Errorf("logged: %s", out.String())
	}
}

func TestBadConfigurationsAreRefused(t *testing.T) {
	for name, cfg := range map[string]embednats.Config{
		"no directory":       {},
		"open to the world":  {Dir: t.TempDir(), Listen: "0.0.0.0:0"},
		"all interfaces":     {Dir: t.TempDir(), Listen: ":0"},
		"no port":            {Dir: t.TempDir(), Listen: "127.0.0.1"},
		"odd port":           {Dir: t.TempDir(), Listen: "127.0.0.1:x"},
		"wildcard in prefix": {Dir: t.TempDir(), Contract: fleet.NewContract("a.*")},
		"file as directory":  {Dir: "/dev/null/x"},
	} {
		srv, err := embednats.Start(cfg)
		if err == nil {
			_ = srv.Close()
			t.Errorf("%s: started", name)
		}
	}
}

// TestABusyMachineMakesNoServerSick asks from more places at once than there are processors, so that some wait for longer than the server allows itself to see that it listens.
func TestABusyMachineMakesNoServerSick(t *testing.T) {
	srv := start(t, embednats.Config{})
	until := time.Now().Add(2 * time.Second)
	var asking sync.WaitGroup
	for range 32 * runtime.GOMAXPROCS(0) {
		asking.Go(func() {
			for time.Now().Before(until) {
				if why := srv.Sick(); why != "" {
					t.Errorf("the server is sick: %s", why)
					return
				}
			}
		})
	}
	asking.Wait()
}
