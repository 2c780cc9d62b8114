package embednats_test

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"fleetglass/internal/embednats"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// dedupeIDs is how many message ids the server remembers in BenchmarkDedupeMemory.
const dedupeIDs = 200_000

// BenchmarkDedupeMemory measures what the server keeps in memory for each message id within the duplicate window of a stream: the heap
// after publishes with ids, less that after the same publishes with the same bytes in another header.
func BenchmarkDedupeMemory(b *testing.B) {
	for b.Loop() {
		with, without := heapOfPublishes(b, "Nats-Msg-Id"), heapOfPublishes(b, "Nats-Msg-No")
		b.ReportMetric((with-without)/dedupeIDs, "B/id")
	}
}

// heapOfPublishes is how many bytes the heap of the process grew by, garbage left out.
func heapOfPublishes(b *testing.B, header string) float64 {
	srv, err := embednats.Start(embednats.Config{Dir: b.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = srv.Close() }()
	nc, err := srv.Connect()
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(1000))
	if err != nil {
		b.Fatal(err)
	}
	stream := jetstream.StreamConfig{Name: "TASKS", Subjects: []string{"t.>"}, Storage: jetstream.FileStorage, Duplicates: time.Hour, MaxAge: time.Hour}
	if _, err := js.CreateStream(b.Context(), stream); err != nil {
		b.Fatal(err)
	}
	before := heap()
	for i := range dedupeIDs {
		m := nats.NewMsg("t.marketing")
		m.Header[header] = []string{fmt.Sprintf("tsk-%024x", i)} // 28 bytes, between a short task id and a UUID.
		if _, err := js.PublishMsgAsync(m); err != nil {
			b.Fatal(err)
		}
	}
	select {
	case <-js.PublishAsyncComplete():
	case <-b.Context().Done():
		b.Fatal("publishes are not answered")
	}
	return heap() - before
}

func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
