//go:build linux

package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"fleetglass/fleet"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// answerRuler is what is asked of the time from an acknowledgement until a task's page says so, in milliseconds.
var answerRuler = &Ruler{Floor: 300, Goal: 100, Lower: true}

// measureAnswers asks how long an acknowledgement takes until the page of its task says that it is completed, one after the other. Before it counts the
// broker is asked whether its consumer can have delivered the message.
func measureAnswers(b *bench) {
	glass := startProgram(b, filepath.Join(b.TempDir(), "data"))
	defer glass.kill()
	glass.ready(b)
	js := dial(b, glass.agents)
	defer js.Conn().Close()
	consumer, err := js.CreateConsumer(b.Context(), fleet.StreamTasks, contract.Worker("devops", fleet.Timing{AckWait: time.Minute, MaxDeliver: 3}))
	if err != nil {
		b.Fatal(err)
	}
	var took []float64
	for i := range max(20, min(b.form.reads, 500)) {
		id := fmt.Sprintf("answered-%05d", i)
		m := nats.NewMsg(contract.TaskSubject("devops", "deployment"))
		m.Header.Set(fleet.HeaderMsgID, id)
		m.Header.Set(fleet.HeaderTaskID, id)
		if _, err := js.PublishMsg(b.Context(), m); err != nil {
			b.Fatal(err)
		}
		got, err := consumer.Next(jetstream.FetchMaxWait(patience))
		if err != nil {
			b.Fatal(err)
		}
		if err := glass.shows(b.Context(), id, http.StatusText(http.StatusOK), nil); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		if err := got.Ack(); err != nil {
			b.Fatal(err)
		}
		if err := glass.shows(b.Context(), id, "completed", []byte("its worker acknowledged it")); err != nil {
			b.Fatal(err)
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
	}
	b.add(Distribution("answers/page", "acknowledgement until the task's page says completed, p99", "ms", took, 0.99, answerRuler))
}

// shows waits until the page of a task is there and holds a text.
func (p *program) shows(ctx context.Context, id, what string, text []byte) error {
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(2 * time.Millisecond) {
		status, body, err := p.fetch(ctx, "/tasks/"+id)
		if err != nil {
			return err
		}
		if status == http.StatusOK && bytes.Contains(body, text) {
			return nil
		}
	}
	return fmt.Errorf("the page of %s does not say %s", id, what)
}
