package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"fleetglass/internal/testkit"
)

// onslaught is what is asked of the program at once.
type onslaught struct {
	streams  int
	searches int // How many clients search without end.
	agents   int // How many are published a task each.
}

// ofToday is the onslaught of the short form, which leaves other tests a share of the machine, or of the long one.
func ofToday() onslaught {
	if longForm() {
		return onslaught{streams: 3000, searches: 64, agents: 3000}
	}
	return onslaught{streams: 1000, searches: 16, agents: 300}
}

// opened asks for so many streams and returns how often each status was answered; zero for a connection that was cut off.
func (r *running) opened(n int) map[int]int {
	r.t.Helper()
	counts := map[int]int{}
	for i := range n {
		counts[r.openOne(streamPaths[i%len(streamPaths)])]++
	}
	return counts
}

func (r *running) openOne(path string) (status int) {
	conn, err := (&net.Dialer{Timeout: patience}).DialContext(r.t.Context(), "tcp", r.Addr())
	if err != nil {
		return 0
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		return 0
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	return response.StatusCode // The stream stays open with its connection.
}

// search keeps searching for what no index finds, until ctx ends, as often as a token may. It counts how often a search was answered, refused
// because too many wait, and anything else.
func (r *running) search(ctx context.Context, answered, refused, wrong *atomic.Int64) {
	tick := time.NewTicker(time.Second / 50)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		<-tick.C
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/api/v1/tasks?q=nowhere-%d+type:x", r.Addr(), n), nil)
		if err != nil {
			wrong.Add(1)
			return
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			continue // Its time is over.
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		switch response.StatusCode {
		case http.StatusOK:
			answered.Add(1)
		case http.StatusTooManyRequests:
			refused.Add(1)
		default:
			wrong.Add(1)
		}
	}
}

// publishNames publishes a task to each of so many agents, and returns how many the broker took.
func (a *agent) publishNames(n int) (taken int, err error) {
	for i := range n {
		msg := nats.NewMsg(fmt.Sprintf("genbrain.agents.flood-%04d.tasks.x", i))
		msg.Header.Set("Nats-Msg-Id", fmt.Sprintf("flood-%d", i))
		msg.Data = []byte(`{"payload":{"title":"A task of a flood of names"}}`)
		if _, err := a.js.PublishMsg(a.t.Context(), msg); err != nil {
			return taken, err
		}
		taken++
	}
	return taken, nil
}

// plainCalls asks until ctx ends and returns how long each answer took.
func (r *running) plainCalls(ctx context.Context) (took []time.Duration, wrong int) {
	for ctx.Err() == nil {
		begin := time.Now()
		response := r.request(http.MethodGet, "/api/v1/tasks?limit=20", nil, nil)
		_, _ = io.Copy(io.Discard, response.Body)
		if response.StatusCode != http.StatusOK {
			wrong++
		}
		took = append(took, time.Since(begin))
	}
	return took, wrong
}

func TestAnOnslaughtCostsNoPublishAndNoPlainCall(t *testing.T) {
	r := start(t, settings(t))
	a := connectAgent(t, r.AgentsURL())
	o := ofToday()
	streams := r.opened(o.streams)

	ctx, end := context.WithCancel(t.Context())
	defer end()
	var answered, refused, wrong atomic.Int64
	var searching sync.WaitGroup
	for range o.searches {
		searching.Go(func() { r.search(ctx, &answered, &refused, &wrong) })
	}
	type calls struct {
		took  []time.Duration
		wrong int
	}
	asked := make(chan calls)
	go func() {
		took, wrong := r.plainCalls(ctx)
		asked <- calls{took, wrong}
	}()
	taken, err := a.publishNames(o.agents)
	if err != nil || taken != o.agents {
		t.Errorf("the broker took %d of %d publishes: %v", taken, o.agents, err)
	}
	testkit.Eventually(t, 3*patience, func() error { // Every line is in, while all goes on.
		var counts struct{ Total int }
		if err := r.get("/api/v1/tasks/counts", &counts); err != nil {
			return err
		}
		if counts.Total < o.agents {
			return fmt.Errorf("%d tasks, want %d", counts.Total, o.agents)
		}
		return nil
	})
	var ready struct{ Ready bool }
	if err := r.get("/readyz", &ready); err != nil || !ready.Ready {
		t.Errorf("not ready: %v", err)
	}
	end()
	plain := <-asked
	searching.Wait()
	most := r.limitOfStreams()
	if streams[http.StatusOK] == 0 || streams[http.StatusOK] > most || streams[http.StatusOK]+streams[http.StatusTooManyRequests] != o.streams {
		t.Errorf("streams by answer: %v, want at most %d open and the others refused", streams, most)
	}
	if wrong.Load() > 0 || plain.wrong > 0 || answered.Load() == 0 {
		t.Errorf("%d searches were answered, %d went wrong; %d of %d plain calls went wrong", answered.Load(), wrong.Load(), plain.wrong, len(plain.took))
	}
	slices.Sort(plain.took)
	t.Logf("streams %v, %d searches answered and %d refused, %d plain calls: p50 %s, p99 %s, longest %s", streams, answered.Load(), refused.Load(), len(plain.took),
		plain.took[len(plain.took)/2], plain.took[len(plain.took)*99/100], plain.took[len(plain.took)-1])
}

// limitOfStreams is how many streams may be open where nobody must say who he is.
func (r *running) limitOfStreams() int { return settings(r.t).streamLimits(descriptors()).Total }
