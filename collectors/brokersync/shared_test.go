package brokersync_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

func TestSeveralMessagesInOneConsumersHands(t *testing.T) {
	t.Parallel()
	for _, down := range []bool{false, true} {
		t.Run(fmt.Sprintf("down %t", down), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.inexact = true
			if !down {
				b.start()
			}
			a := b.agent(t, "many").works(nats.ConsumerConfig{MaxAckPending: 10, AckWait: time.Hour})
			for i := range 5 {
				a.publish(fmt.Sprintf("many-%d", i+1))
			}
			var got []*nats.Msg
			for range 4 {
				got = append(got, a.takes())
			}
			a.must(got[1].AckSync())
			if down {
				b.start()
			}
			b.expect(t, "many-1", "delivered (delivered)\n1 open silent")
			b.expect(t, "many-2", "completed (acknowledged)\n1 acked")
			b.expect(t, "many-3", "delivered (delivered)\n1 open silent")
			b.expect(t, "many-4", "delivered (delivered)\n1 open silent")
			b.expect(t, "many-5", "published (stored)")
			for i := range 4 {
				b.truthful(t, fmt.Sprintf("many-%d", i+1))
			}
			r, err := b.store.Task(t.Context(), "many-3")
			if err != nil {
				t.Fatal(err)
			}
			if a := r.Messages[0].Attempts; len(a) != 1 || len(a[0].CSeqs) != 1 || a[0].CSeqs[0] != 3 {
				t.Errorf("the third message was the third delivery, its attempts are %+v", a)
			}
		})
	}
}

func TestASilentMessageBesideAnsweredOnesOfAConsumerThatMayHoldSeveral(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	a := b.agent(t, "quiet").works(nats.ConsumerConfig{MaxAckPending: 10})
	a.publish("quiet")
	a.takes()
	a.publish("beside-1")
	a.must(a.takes().AckSync())
	a.takes() // The silent one again.
	a.publish("beside-2")
	a.must(a.takes().AckSync())
	a.takes() // And for the last time.
	b.start()
	b.expect(t, "quiet", "exhausted (presumed dead) [silent_attempt]\n1 timed_out silent\n2 timed_out silent\n3 timed_out exact silent \"attempt 3 of 3 was never answered and no attempt is left\"")
	b.expect(t, "beside-1", "completed (acknowledged)\n1 acked")
	b.expect(t, "beside-2", "completed (acknowledged)\n1 acked")
}
