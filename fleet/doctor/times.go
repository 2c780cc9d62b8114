package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/lifecycle"
)

const day = 24 * time.Hour

// span writes a duration for a nats command: 30s, 5m, 72h, 9d. Texts for people have [lifecycle.Lasting].
func span(d time.Duration) string {
	if d >= day && d%day == 0 {
		return fmt.Sprintf("%dd", d/day)
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// grouped writes a number for people, with separators. Commands have it without.
func grouped[N ~int | ~int64 | ~uint64](n N) string { return lifecycle.Grouped(int64(n)) }

// attemptsTake is how long all attempts of a message may take, without heartbeats and naks; zero where their number has no end.
func attemptsTake(cfg jetstream.ConsumerConfig) (sum time.Duration) {
	for attempt := range max(cfg.MaxDeliver, 0) {
		wait := cfg.AckWait
		if n := len(cfg.BackOff); n > 0 {
			wait = cfg.BackOff[min(attempt, n-1)]
		}
		sum += wait
	}
	return sum
}
