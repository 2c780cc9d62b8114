package views

import (
	"fmt"
	"strings"
	"time"

	"fleetglass/lifecycle"
)

func typicalText(d time.Duration, sample int64) string {
	if sample == 0 {
		return ""
	}
	return Approximately(d)
}

func joined(s []string) string { return strings.Join(s, ", ") }

func backoff(c lifecycle.ConsumerState) string {
	if len(c.Backoff) == 0 {
		return "none"
	}
	var parts []string
	for _, d := range c.Backoff {
		parts = append(parts, strings.ReplaceAll(lifecycle.Lasting(d), " ", "\u00a0"))
	}
	return strings.Join(parts, ", ")
}

// waitingPulls is how many requests of workers wait; a dash where the broker sends by itself.
func waitingPulls(c lifecycle.ConsumerState) string {
	if c.Push {
		return "–"
	}
	return Count(int64(c.Waiting))
}

func maxDeliver(c lifecycle.ConsumerState) string {
	if c.MaxDeliver <= 0 {
		return "no limit"
	}
	return fmt.Sprint(c.MaxDeliver)
}
