package testkit

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browserNames are where a Chromium may be; the first one is it without windows, which takes a quarter less time.
var browserNames = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"}

// browserPatience is how long a test may use a tab: the longest one takes a minute and a half alone, and almost three beside other packages.
const browserPatience = 10 * time.Minute

// Browser returns a context in which [Tab] opens tabs of a headless Chromium. Its cookies, stores and cache are of nobody else; the process is one for all
// tests that run at a time, for to start it takes longer than most of them. It ends with the last of these. Without a Chromium the test fails;
// FLEETGLASS_TEST_BROWSER=off skips it instead.
func Browser(t testing.TB) context.Context {
	t.Helper()
	if os.Getenv("FLEETGLASS_TEST_BROWSER") == "off" {
		t.Skip("FLEETGLASS_TEST_BROWSER=off")
	}
	process, release, err := chromium.use(browserPath(t))
	if err != nil {
		t.Fatalf("start browser: %v", err)
	}
	t.Cleanup(release)
	ctx, end := chromedp.NewContext(process, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("open a profile: %v", err)
	}
	return ctx
}

// sharedBrowser is the Chromium of the tests that run now.
type sharedBrowser struct {
	mu    sync.Mutex
	users int
	ctx   context.Context // Of the process, while somebody uses it.
	close func()
}

var chromium sharedBrowser

// use is the context of the process, which is started for the first who uses it, and ended when the last releases it.
func (b *sharedBrowser) use(path string) (ctx context.Context, release func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users == 0 {
		if err := b.start(path); err != nil {
			return nil, nil, err
		}
	}
	b.users++
	return b.ctx, b.release, nil
}

func (b *sharedBrowser) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.users--; b.users == 0 {
		b.close()
	}
}

func (b *sharedBrowser) start(path string) error {
	profile, err := os.MkdirTemp("", "fleetglass-browser-")
	if err != nil {
		return err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Headless)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, end := chromedp.NewContext(allocator)
	b.ctx, b.close = ctx, func() {
		end()
		stop()
		_ = os.RemoveAll(profile)
	}
	if err := chromedp.Do(ctx); err != nil {
		b.close()
		return err
	}
	return nil
}

// Tab opens a tab of a browser that [Browser] started. It is closed with the test, and what it does is bounded in time.
func Tab(t testing.TB, browser context.Context) context.Context {
	t.Helper()
	tab, closeTab := chromedp.NewContext(browser)
	t.Cleanup(closeTab)
	if err := chromedp.Do(tab); err != nil { // The first run opens the tab and may not be bounded: its context is the tab's life.
		t.Fatalf("open tab: %v", err)
	}
	ctx, stop := context.WithTimeout(tab, browserPatience)
	t.Cleanup(stop)
	return ctx
}

func browserPath(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("FLEETGLASS_TEST_BROWSER"); path != "" {
		return path
	}
	for _, name := range browserNames {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium: make test installs it, or name one in FLEETGLASS_TEST_BROWSER")
	return ""
}
