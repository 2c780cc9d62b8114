// Command screenshots writes a picture of every page, at three widths, light and dark.
//
//	screenshots -binary bin/fleetglass -out directory   # in five situations, on servers that it starts
//	screenshots -url http://127.0.0.1:8080              # of a server that runs already
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
)

// options are what the flags say.
type options struct {
	url, binary, out                   string
	situations, pages, widths, schemes string
	whole                              bool
}

func main() {
	var o options
	flag.StringVar(&o.url, "url", "", "address of a server that runs; without it servers are started, one for each situation")
	flag.StringVar(&o.binary, "binary", "bin/fleetglass", "program to start")
	flag.StringVar(&o.out, "out", "screenshots", "directory to write to")
	flag.StringVar(&o.situations, "situations", "", "which situations, separated by commas; default all")
	flag.StringVar(&o.pages, "pages", "", "which pages, likewise")
	flag.StringVar(&o.widths, "widths", "360,768,1440", "widths of the window: a phone, a tablet and a screen")
	flag.StringVar(&o.schemes, "schemes", "light,dark", "colour schemes")
	flag.BoolVar(&o.whole, "whole", false, "show the whole page, not only the first screen")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "screenshots:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if err := os.MkdirAll(o.out, 0o750); err != nil {
		return err
	}
	widths, err := numbers(o.widths)
	if err != nil {
		return err
	}
	c, closeBrowser, err := newCamera(ctx, camera{out: o.out, widths: widths, schemes: split(o.schemes), whole: o.whole})
	if err != nil {
		return err
	}
	defer closeBrowser()
	if o.url != "" {
		return c.tour(ctx, o.url, "here", split(o.pages))
	}
	for _, s := range situations {
		if chosen(split(o.situations), s.name) {
			if err := s.show(ctx, o.binary, func(base string) error { return c.tour(ctx, base, s.name, split(o.pages)) }); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

// tour takes pictures of the pages of one server. It errors when a page does not fit its window.
func (c *camera) tour(ctx context.Context, base, situation string, wanted []string) error {
	pages, err := pagesOf(ctx, base)
	if err != nil {
		return err
	}
	var wide []string
	for _, p := range pages {
		if !chosen(wanted, p.name) {
			continue
		}
		over, err := c.shoot(base, situation, p)
		if err != nil {
			return err
		}
		wide = append(wide, over...)
	}
	if len(wide) > 0 {
		return errors.New(strings.Join(wide, "\n"))
	}
	return nil
}

func chosen(among []string, name string) bool { return len(among) == 0 || slices.Contains(among, name) }

func split(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

func numbers(list string) ([]int64, error) {
	var out []int64
	for _, s := range split(list) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("width %q: %w", s, err)
		}
		out = append(out, n)
	}
	return out, nil
}
