package testkit

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browserNames are where a Chromium may be.
var browserNames = []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"}

// browserPatience is how long a test may use a tab.
const browserPatience = 3 * time.Minute

// Browser starts a headless Chromium with a profile of its own and returns the context in which [Tab] opens tabs. It ends with the
// test. Without a Chromium the test fails; FLEETGLASS_TEST_BROWSER=off skips it instead.
func Browser(t testing.TB) context.Context {
	t.Helper()
	if os.Getenv("FLEETGLASS_TEST_BROWSER") == "off" {
		t.Skip("FLEETGLASS_TEST_BROWSER=off")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browserPath(t)), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Headless)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeBrowser := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		closeBrowser()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start browser: %v", err)
	}
	return ctx
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
