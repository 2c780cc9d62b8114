package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"fleetglass/internal/embednats"
)

// Forgetful is a broker that can be set back to how it was: it forgets what it stored since, as one does whose host loses power or is set back to a snapshot.
type Forgetful struct {
	cfg    embednats.Config
	broker *embednats.Server
	kept   string // Where its files are kept as they were.
}

// ForgetfulBroker starts one without streams. It ends with the test.
func ForgetfulBroker(t testing.TB) *Forgetful {
	t.Helper()
	dir := t.TempDir()
	f := &Forgetful{cfg: embednats.Config{Dir: filepath.Join(dir, "now"), Listen: FreeAddress(t)}, kept: filepath.Join(dir, "kept")}
	if err := f.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.broker.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *Forgetful) start() (err error) {
	f.broker, err = embednats.Start(f.cfg)
	return err
}

// URL is where it listens, whenever it was started.
func (f *Forgetful) URL() string { return "nats://" + f.cfg.Listen }

// Keep stops it, keeps how it is, and starts it again.
func (f *Forgetful) Keep() error {
	return f.whileStopped(func() error { return os.CopyFS(f.kept, os.DirFS(f.cfg.Dir)) })
}

// SetBack stops it, and starts it again as it was when it was kept.
func (f *Forgetful) SetBack() error {
	return f.whileStopped(func() error {
		if err := os.RemoveAll(f.cfg.Dir); err != nil {
			return err
		}
		return os.Rename(f.kept, f.cfg.Dir)
	})
}

func (f *Forgetful) whileStopped(do func() error) error {
	if err := f.broker.Close(); err != nil {
		return fmt.Errorf("stop the broker: %w", err)
	}
	if err := do(); err != nil {
		return err
	}
	return f.start()
}
