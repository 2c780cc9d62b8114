package testkit

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// Restart stops it, and starts it again: it forgets what it kept in memory alone.
func (f *Forgetful) Restart() error { return f.whileStopped(func() error { return nil }) }

// Spoil stops it, spoils a byte of the messages of a stream that have a text, so that it cannot read what one of their files holds from the first of them on, and starts
// it again.
func (f *Forgetful) Spoil(stream, text string) error {
	return f.whileStopped(func() error {
		spoilt := 0
		err := filepath.WalkDir(f.cfg.Dir, func(path string, _ os.DirEntry, err error) error {
			switch {
			case err != nil || !strings.Contains(path, "/"+stream+"/msgs/"):
				return err
			case filepath.Base(path) == "index.db": // It is made anew from the messages.
				return os.Remove(path)
			case filepath.Ext(path) != ".blk":
				return nil
			}
			file, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			at := bytes.Index(file, []byte(text))
			if at < 0 {
				return nil
			}
			spoilt++
			file[at] ^= 0xff
			return os.WriteFile(path, file, 0o600)
		})
		if err == nil && spoilt == 0 {
			err = fmt.Errorf("no file of %s has %q", stream, text)
		}
		return err
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
