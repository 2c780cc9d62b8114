package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

const (
	height      = 900
	pageTimeout = 30 * time.Second
)

// camera takes pictures with one browser.
type camera struct {
	ctx     context.Context // Of the browser.
	out     string          // The directory to write to.
	widths  []int64
	schemes []string
	whole   bool // A picture shows the whole page, not only the first screen.
}

// newCamera starts a browser. The caller calls the function that ends it.
func newCamera(ctx context.Context, c camera) (*camera, func(), error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("hide-scrollbars", c.whole)) // The whole of a page is drawn as wide as its window: beside a scrollbar its right edge was cut off.
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	ctx, cancel := chromedp.NewContext(ctx)
	closeBrowser := func() { cancel(); stop() }
	if err := chromedp.Do(ctx); err != nil { // A deadline here would end the browser with the first picture.
		closeBrowser()
		return nil, nil, fmt.Errorf("start the browser: %w", err)
	}
	c.ctx = ctx
	return &c, closeBrowser, nil
}

// shoot takes the pictures of one page: each width in each scheme. It returns what does not fit its window.
func (c *camera) shoot(base, situation string, p page) (wide []string, err error) {
	for _, width := range c.widths {
		for _, scheme := range c.schemes {
			name := fmt.Sprintf("%s-%s-%d-%s.png", situation, p.name, width, scheme)
			over, err := c.picture(base+p.path, width, scheme, filepath.Join(c.out, name))
			if err != nil {
				return wide, fmt.Errorf("%s: %w", name, err)
			}
			if over > 0 {
				wide = append(wide, fmt.Sprintf("%s is %d px wider than its window", name, over))
			}
		}
	}
	return wide, nil
}

// picture writes one picture. It returns by how many pixels the page is wider than its window.
func (c *camera) picture(address string, width int64, scheme, name string) (over int, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, pageTimeout)
	defer cancel()
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, media); err != nil {
		return 0, err
	}
	err = chromedp.Do(ctx, chromedp.EmulateViewport(width, height), chromedp.Navigate(address), chromedp.WaitReady(chromedp.CSS("html[data-ready]")))
	if err != nil {
		return 0, err
	}
	if over, err = chromedp.Run(ctx, chromedp.Evaluate[int](`document.scrollingElement.scrollWidth - document.documentElement.clientWidth`)); err != nil {
		return 0, err
	}
	take := chromedp.CaptureScreenshot()
	if c.whole {
		take = chromedp.FullScreenshot(100)
	}
	png, err := chromedp.Run(ctx, take)
	if err != nil {
		return 0, err
	}
	return over, os.WriteFile(name, png, 0o644)
}
