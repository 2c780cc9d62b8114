//go:build linux

package situations

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/testkit"
)

// clients are what acts in one row: a publisher, workers and an operator, all plain clients of the broker. Each row has an agent of its
// own, with subjects, consumers and task ids that no other row uses. A step that fails ends the row.
type clients struct {
	ctx     context.Context
	nc      *nats.Conn
	js      jetstream.JetStream
	agent   string
	pool    string             // The agent that its workers' consumer is named after; empty for its own.
	records records            // Where their idempotency records are.
	url     string             // Of the broker, for who speaks its protocol by hand.
	clock   *clock             // Of the broker; nil where it cannot be set.
	memory  *testkit.Forgetful // The broker where it can be set back.
	glass   *glass             // Fleetglass, in rows that it watches; nil while it comes later.
	halts   bool               // They halt for a random time before each act.

	mu     sync.Mutex
	waited time.Duration       // Longest time for which the broker let a call wait that it answers at once.
	stored map[string][]letter // What the stream stored, by task.
	named  map[string]string   // Tasks of the row by the names that it gives them.
}

// known is which tasks the row has so far, and what the stream stored of them.
func (c *clients) known() (named map[string]string, stored map[string][]letter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	stored = map[string][]letter{}
	for id, letters := range c.stored {
		stored[id] = slices.Clone(letters)
	}
	return maps.Clone(c.named), stored
}

// letter is a stored message.
type letter struct {
	stream string
	seq    uint64
}

// failure ends a row.
type failure struct{ err error }

func (c *clients) must(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// late ends a row whose clients came too late to make its situation.
type late struct{ what string }

// inTime ends a row unless what its situation depends on happened in time: on a slow machine it was another situation, about which the row says nothing.
func (c *clients) inTime(ok bool, what string) {
	if !ok {
		panic(late{what})
	}
}

// waits notes how long a call to the broker took that it answers at once.
func (c *clients) waits(since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waited = max(c.waited, time.Since(since))
}

func (c *clients) longestWait() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waited
}

// letOthersBegin waits while the other rows begin, when the machine is busiest: for rows that a moment decides.
func (c *clients) letOthersBegin() { pause(c.ctx, 15*time.Second) }

// halt waits for a random time in rows that are interrupted, so that each act meets Fleetglass at another moment.
func (c *clients) halt() {
	if c.halts {
		pause(c.ctx, rand.N(longestHalt))
	}
}

// longestHalt is short beside the shortest wait for an acknowledgement of the rows, a second.
const longestHalt = 150 * time.Millisecond

// task is the id of a task of this row. The name "" is its main task.
func (c *clients) task(name string) string {
	id := c.agent + "-task"
	if name != "" {
		id += "-" + name
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.named[name] = id
	return id
}

// publish is a message that is about to be published.
type publish struct {
	task    string // Name of the task within the row.
	agent   string // Default that of the row.
	kind    string // Last token of the subject; default "work".
	id      string // Nats-Msg-Id; default the task id.
	version int    // Of the idempotency key; default 1.
	key     string // Idempotency key; default <task id>-<version>.
	header  nats.Header
	body    string
	bare    bool // Without a body.
}

// publish stores a message and returns where.
func (c *clients) publish(p publish) letter {
	ack, err := c.tryPublish(p)
	c.must(err)
	if ack.Duplicate {
		c.must(fmt.Errorf("publish of %q was swallowed as a duplicate", c.task(p.task)))
	}
	l := letter{stream: ack.Stream, seq: ack.Sequence}
	task := c.task(p.task)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored[task] = append(c.stored[task], l)
	return l
}

// tryPublish publishes and says what the stream answered.
func (c *clients) tryPublish(p publish) (*jetstream.PubAck, error) {
	c.halt()
	defer c.waits(time.Now())
	return c.js.PublishMsg(c.ctx, c.message(p))
}

func (c *clients) message(p publish) *nats.Msg {
	task := c.task(p.task)
	agent, kind, id := first(p.agent, c.agent), first(p.kind, "work"), first(p.id, task)
	m := nats.NewMsg("genbrain.agents." + agent + ".tasks." + kind)
	m.Header.Set("Nats-Msg-Id", id)
	m.Header.Set("X-Task-ID", task)
	m.Header.Set("X-Idempotency-Key", first(p.key, task+"-"+strconv.Itoa(max(p.version, 1))))
	for name, values := range p.header {
		m.Header[name] = values
	}
	body, err := json.Marshal(map[string]any{"taskId": task, "assignee": agent, "type": kind, "payload": p.body})
	c.must(err)
	if m.Data = body; p.bare {
		m.Data = nil
	}
	return m
}

// retryOf are the headers of a message that retries another.
func retryOf(l letter, generation int) nats.Header {
	return nats.Header{
		"X-Retry-Of":         {fmt.Sprintf("%s:%d", l.stream, l.seq)},
		"X-Retry-Generation": {strconv.Itoa(generation)},
	}
}

// worker is the worker's consumer of an agent.
func worker(agent string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: agent + "-task-worker", FilterSubject: "genbrain.agents." + agent + ".tasks.>", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: 5 * time.Minute, MaxDeliver: 3, MaxAckPending: 1,
	}
}

// consumer makes a consumer on TASKS, or changes it.
func (c *clients) consumer(cfg jetstream.ConsumerConfig) jetstream.Consumer {
	return c.consumerOn("TASKS", cfg)
}

func (c *clients) consumerOn(stream string, cfg jetstream.ConsumerConfig) jetstream.Consumer {
	c.halt()
	consumer, err := c.js.CreateOrUpdateConsumer(c.ctx, stream, cfg)
	c.must(err)
	return consumer
}

// workers makes the agent's consumer as the contract has it, changed where the row says so.
func (c *clients) workers(change ...func(*jetstream.ConsumerConfig)) jetstream.Consumer {
	cfg := worker(c.agent)
	for _, f := range change {
		f(&cfg)
	}
	return c.consumer(cfg)
}

// wait is the time that a worker has for an attempt.
func wait(d time.Duration) func(*jetstream.ConsumerConfig) {
	return func(c *jetstream.ConsumerConfig) { c.AckWait = d }
}

// atMost bounds the attempts.
func atMost(n int) func(*jetstream.ConsumerConfig) {
	return func(c *jetstream.ConsumerConfig) { c.MaxDeliver = n }
}

// atOnce is how many messages the workers may hold together.
func atOnce(n int) func(*jetstream.ConsumerConfig) {
	return func(c *jetstream.ConsumerConfig) { c.MaxAckPending = n }
}

// pull waits until the broker delivers a message. It asks for a long time at once: a message that is delivered just when the time of a request ends
// reaches nobody.
func (c *clients) pull(consumer jetstream.Consumer, options ...jetstream.FetchOpt) jetstream.Msg {
	var why error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(c.ctx, 20*time.Millisecond) {
		m, err := c.ask(consumer, 20*time.Second, options...)
		if m != nil {
			return m
		}
		why = err
	}
	c.must(errors.Join(errors.New("the broker delivers nothing"), why))
	return nil
}

// seqOf is the stream sequence of a delivery.
func (c *clients) seqOf(m jetstream.Msg) uint64 {
	meta, err := m.Metadata()
	c.must(err)
	return meta.Sequence.Stream
}

// tryPull asks once; nil when nothing is delivered in the given time.
func (c *clients) tryPull(consumer jetstream.Consumer, within time.Duration) jetstream.Msg {
	m, _ := c.ask(consumer, within)
	return m
}

// ask asks once. Without a message it gives the error that the client met, if it met one.
func (c *clients) ask(consumer jetstream.Consumer, within time.Duration, options ...jetstream.FetchOpt) (jetstream.Msg, error) {
	c.halt()
	batch, err := consumer.Fetch(1, append(options, jetstream.FetchMaxWait(within))...)
	c.must(err)
	for m := range batch.Messages() {
		return m, nil
	}
	return nil, batch.Error()
}

// inGroup asks as a client of the priority group of a consumer.
func inGroup() jetstream.FetchOpt { return jetstream.FetchPriorityGroup("g") }

// work publishes a message, and lets a worker do it, record its completion under a key and acknowledge it.
func (c *clients) work(p publish, key string) {
	l := c.publish(p)
	m := c.pull(c.workers())
	c.works(300 * time.Millisecond)
	c.record(p.task, map[string]any{"idempotencyKey": key, "natsStreamSeq": l.seq})
	c.ack(m)
}

// skips publishes a message for which a worker waits, who acknowledges it within moments: nobody halts in between. What takes a second may have been work.
func (c *clients) skips(consumer jetstream.Consumer, p publish) {
	batch, err := consumer.Fetch(1, jetstream.FetchMaxWait(patience))
	c.must(err)
	began := time.Now()
	c.publish(p)
	for m := range batch.Messages() {
		c.must(m.Ack())
		c.must(c.nc.FlushTimeout(patience))
		c.inTime(time.Since(began) < time.Second, "the worker skipped the work as slowly as it does it")
		return
	}
	c.must(errors.New("the broker delivers nothing"))
}

// Acknowledgements. They return when the broker has them.
func (c *clients) ack(m jetstream.Msg)               { c.answer(m, "+ACK") }
func (c *clients) heartbeat(m jetstream.Msg)         { c.answer(m, "+WPI") }
func (c *clients) term(m jetstream.Msg, why string)  { c.answer(m, "+TERM "+why) }
func (c *clients) answer(m jetstream.Msg, as string) { c.send(nats.NewMsg(m.Reply()), as) }

// keepsBeating sends a heartbeat every second until the row is judged.
func (c *clients) keepsBeating(m jetstream.Msg) {
	go func() {
		for c.ctx.Err() == nil && c.nc.Publish(m.Reply(), []byte("+WPI")) == nil {
			pause(c.ctx, time.Second)
		}
	}()
}

// send publishes a plain message and waits until the broker has it.
func (c *clients) send(m *nats.Msg, body string) {
	c.halt()
	defer c.waits(time.Now())
	m.Data = []byte(body)
	c.must(c.nc.PublishMsg(m))
	c.must(c.nc.FlushTimeout(patience))
}

// sendRaw publishes a message whose header block is whatever text it is, as a client may that writes the protocol by hand.
func (c *clients) sendRaw(subject, header, body string) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "nats://"))
	c.must(err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "CONNECT {\"headers\":true,\"verbose\":false,\"lang\":\"go\",\"version\":\"1\",\"protocol\":1}\r\nHPUB %s %d %d\r\n%s%s\r\nPING\r\n",
		subject, len(header), len(header)+len(body), header, body)
	c.must(err)
	c.must(conn.SetReadDeadline(time.Now().Add(patience)))
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		if line := lines.Text(); strings.HasPrefix(line, "-ERR") {
			c.must(errors.New(line))
		} else if line == "PONG" {
			return
		}
	}
	c.must(fmt.Errorf("the broker does not answer: %w", lines.Err()))
}

// works is time that a worker spends on its task.
func (c *clients) works(d time.Duration) { pause(c.ctx, d) }

// record writes the idempotency record of a task as an agent does. What fields says comes over what is usual; a nil value leaves out.
func (c *clients) record(task string, fields map[string]any) {
	c.halt()
	id := c.task(task)
	value := map[string]any{
		"taskId": id, "idempotencyKey": id + "-1", "agentId": c.agent, "completedAt": time.Now().UnixMilli(),
		"expiresAt": time.Now().Add(72 * time.Hour).UnixMilli(), "resultSummary": "done",
	}
	for name, v := range fields {
		if value[name] = v; v == nil {
			delete(value, name)
		}
	}
	version := 1
	if n, ok := keyVersion(fmt.Sprint(value["idempotencyKey"]), id); ok {
		version = n
	}
	c.must(c.records.put(c.ctx, id, version, value))
}

// unrecord deletes the idempotency record of the first version of a task.
func (c *clients) unrecord(task string) {
	c.halt()
	c.must(c.records.remove(c.ctx, c.task(task), 1, false))
}

// erase deletes it with what was there before it.
func (c *clients) erase(task string) {
	c.halt()
	c.must(c.records.remove(c.ctx, c.task(task), 1, true))
}

// keyVersion is the number behind the task id in an idempotency key.
func keyVersion(key, task string) (n int, ok bool) {
	if len(key) <= len(task)+1 || key[:len(task)+1] != task+"-" {
		return 0, false
	}
	n, err := strconv.Atoi(key[len(task)+1:])
	return n, err == nil
}

// said is the stored message's part of a record.
func said(l letter) map[string]any { return map[string]any{"natsStreamSeq": l.seq} }

// report says something about a task as an agent does.
func (c *clients) report(agent, kind, task string, data map[string]any) {
	m := nats.NewMsg("genbrain.lifecycle." + agent + "." + kind)
	c.send(m, c.cloudEvent(agent, kind, task, time.Now(), data))
}

func (c *clients) cloudEvent(agent, kind, task string, at time.Time, data map[string]any) string {
	body, err := json.Marshal(map[string]any{
		"specversion": "1.0", "id": nats.NewInbox(), "source": "/agents/" + agent, "type": "fleet.lifecycle." + kind + ".v1",
		"subject": c.task(task), "time": at.UTC().Format(time.RFC3339Nano), "datacontenttype": "application/json", "data": data,
	})
	c.must(err)
	return string(body)
}

// deleteMessage is what an operator does.
func (c *clients) deleteMessage(l letter) { c.deleteFrom(l.stream, l.seq) }

// deleteUnawaited asks the broker to delete a message of TASKS, and does not wait for its answer. It asks once the broker deletes within moments: one that is busy
// lets the request lie for seconds, and what follows then truly comes before the deletion.
func (c *clients) deleteUnawaited(l letter) {
	subject, none := "$JS.API.STREAM.MSG.DELETE.TASKS", uint64(1)<<50
	c.until("the broker deletes at once", func() bool {
		began := time.Now()
		_, err := c.nc.RequestWithContext(c.ctx, subject, fmt.Appendf(nil, `{"seq":%d}`, none))
		c.must(err)
		return time.Since(began) < 200*time.Millisecond
	})
	c.send(nats.NewMsg(subject), fmt.Sprintf(`{"seq":%d}`, l.seq))
}

func (c *clients) deleteFrom(stream string, seq uint64) {
	c.halt()
	s, err := c.js.Stream(c.ctx, stream)
	c.must(err)
	c.must(s.DeleteMsg(c.ctx, seq))
}

// uncapture removes a capture stream, and returns how it is made again.
func (c *clients) uncapture(name string) (again func()) {
	c.halt()
	again = c.remade(name)
	c.must(c.js.DeleteStream(c.ctx, name))
	return again
}

// remade makes a stream again, as it is now.
func (c *clients) remade(name string) (again func()) {
	stream, err := c.js.Stream(c.ctx, name)
	c.must(err)
	return func() {
		_, err := c.js.CreateStream(c.ctx, stream.CachedInfo().Config)
		c.must(err)
	}
}

// purge removes everything that the row published.
func (c *clients) purge() {
	c.halt()
	s, err := c.js.Stream(c.ctx, "TASKS")
	c.must(err)
	c.must(s.Purge(c.ctx, jetstream.WithPurgeSubject("genbrain.agents."+c.agent+".tasks.>")))
}

// durable is the name of the agent's workers' consumer.
func (c *clients) durable() string { return cmp.Or(c.pool, c.agent) + byFirst }

// deleteConsumer removes the agent's consumer.
func (c *clients) deleteConsumer() {
	c.halt()
	c.must(c.js.DeleteConsumer(c.ctx, "TASKS", c.durable()))
}

// until waits for something that the row's clients can see.
func (c *clients) until(what string, holds func() bool) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); pause(c.ctx, 20*time.Millisecond) {
		if holds() {
			return
		}
	}
	c.must(fmt.Errorf("does not happen: %s", what))
}

// seen waits until Fleetglass, where it watches, has read what happened and has looked at the broker since.
func (c *clients) seen() {
	if c.glass == nil {
		return
	}
	for range 2 { // The look that counts began after the lines were read.
		c.must(c.glass.settled(c.ctx, c.clock.moment()))
	}
}

// there reports whether the stream still has a message. Its leader is asked: a mirror that answers for it may have what was deleted.
func (c *clients) there(l letter) bool {
	leader, err := c.nc.JetStream(nats.MaxWait(patience))
	c.must(err)
	_, err = leader.GetMsg(l.stream, l.seq)
	if errors.Is(err, nats.ErrMsgNotFound) {
		return false
	}
	c.must(err)
	return true
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
