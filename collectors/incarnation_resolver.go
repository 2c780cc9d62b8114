package collectors

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"fleetglass/fleet"
	"fleetglass/internal/leader"
	"fleetglass/lifecycle"
)

// Watermarks reads back positions that batches stored.
type Watermarks interface {
	// Watermark returns the position of a source, empty when it has none.
	Watermark(ctx context.Context, source string) (string, error)
}

// ConsumerStates gives what the store has heard of consumers.
type ConsumerStates interface {
	// Consumers returns the last known state of every consumer.
	Consumers(ctx context.Context) ([]lifecycle.ConsumerState, error)
}

// IncarnationResolverConfig says where streams are watched.
type IncarnationResolverConfig struct {
	JetStream  jetstream.JetStream // Required. Reaches the watched streams.
	Capture    jetstream.JetStream // Optional; default JetStream. Reaches OBS_EVT.
	Appender   lifecycle.Appender  // Required.
	Watermarks Watermarks          // Required.
	Consumers  ConsumerStates      // Optional; nil knows nothing of the subjects that consumers took before.
	Contract   fleet.Contract      // Required.
	Streams    []string            // Optional; default TASKS. Watched whatever subjects they have, beside every other stream that takes tasks.
}

// IncarnationResolver knows which incarnation of a stream a message belongs to: a stream that was deleted and created again starts its
// sequences anew, so its second message number 1 is another message. It learns from the stream's own creation time and from the advisories
// in OBS_EVT, which tell of incarnations that began and ended while nobody looked, and it remembers in the store.
type IncarnationResolver struct {
	cfg IncarnationResolverConfig

	looks sharedLook

	// What looks saw; only a look touches it.
	loaded bool
	home   string
	copies map[string]bool             // Streams that hold nothing but copies of other streams' messages.
	copied map[string]bool             // Streams that others of the account copy.
	count  int                         // How many streams there were when copies were looked for,
	listed time.Time                   // and when that was.
	seen   map[string]lifecycle.Micros // Creation time at the last look; zero when the stream did not exist.
	again  map[string]int              // For how many looks advisories are read again: that of a deletion may be captured after the new stream was seen.
	known  map[string]Incarnations
	ends   map[string]streamEnd // Where streams ended at the last look.

	connections uint64 // How often the connection to the broker had been made again at the last look,
	reconnected bool   // and whether it has been since.

	aloneMu sync.Mutex
	alone   map[ConsumerRef]alone

	workersMu sync.Mutex
	workers   map[string]listedWorkers // By stream name.
}

// NewIncarnationResolver validates the configuration.
func NewIncarnationResolver(cfg IncarnationResolverConfig) (*IncarnationResolver, error) {
	if cfg.JetStream == nil || cfg.Appender == nil || cfg.Watermarks == nil || cfg.Contract.Prefix == "" {
		return nil, errors.New("incarnation resolver: JetStream, Appender, Watermarks and Contract are required")
	}
	if cfg.Capture == nil {
		cfg.Capture = cfg.JetStream
	}
	if len(cfg.Streams) == 0 {
		cfg.Streams = []string{fleet.StreamTasks}
	}
	return &IncarnationResolver{
		cfg: cfg, seen: map[string]lifecycle.Micros{}, again: map[string]int{}, known: map[string]Incarnations{}, ends: map[string]streamEnd{}, alone: map[ConsumerRef]alone{}, workers: map[string]listedWorkers{},
	}, nil
}

// Observe asks the broker how the watched streams are and returns what is known now. What is new was stored before it returns. It
// errors when the broker or the store does not answer.
func (n *IncarnationResolver) Observe(ctx context.Context) (Streams, error) {
	return n.looks.join(ctx, n.look)
}

// look is one look for all who wait for it: nobody changes what it returns.
func (n *IncarnationResolver) look(ctx context.Context) (Streams, error) {
	if err := n.load(ctx); err != nil {
		return Streams{}, err
	}
	connections := n.cfg.JetStream.Conn().Stats().Reconnects
	n.reconnected = connections != n.connections
	out := Streams{Contract: n.cfg.Contract, Home: n.home, Known: map[string]Incarnations{}, LastSeq: map[string]LastSeq{}}
	var names []string
	var states []streamState
	asking, asked := errgroup.WithContext(ctx)
	asking.Go(func() error { return n.findCopies(asked) })
	asking.Go(func() error {
		text, err := n.cfg.Watermarks.Watermark(asked, lifecycle.WatermarkRetained)
		out.Deleted = lifecycle.Retained(text)
		return err
	})
	asking.Go(func() (err error) {
		if names, err = n.names(asked); err != nil {
			return err
		}
		if err := n.readEnds(asked, names); err != nil {
			return err
		}
		states, err = n.states(asked, names)
		return err
	})
	if err := asking.Wait(); err != nil {
		return Streams{}, err
	}
	out.Copies, out.Copied = maps.Clone(n.copies), n.copied
	for i, name := range names {
		live, last := states[i].created, states[i].last
		if n.again[name] == 0 && !last.Copies && n.known[name].cameBackUnseen(live, last.First) {
			n.again[name] = 1
		}
		if err := n.notice(ctx, name, live, last.First); err != nil {
			return Streams{}, err
		}
		if err := n.noteEnd(ctx, name, states[i]); err != nil {
			return Streams{}, err
		}
		out.Known[name] = slices.Clone(n.known[name])
		if live.Known() {
			out.Copies[name] = states[i].copiesOnly // A mirror that is given subjects of its own is one no more.
			last.Epoch = n.known[name][len(n.known[name])-1].Epoch
			out.LastSeq[name] = last
		}
	}
	n.connections = connections
	return out, nil
}

// names are the streams to watch: the configured ones, every other that takes tasks of the fleet now, and those that did before.
func (n *IncarnationResolver) names(ctx context.Context) ([]string, error) {
	names := slices.Concat(n.cfg.Streams, slices.Collect(maps.Keys(n.known)))
	lister := n.cfg.JetStream.StreamNames(ctx, jetstream.WithStreamListSubject(n.cfg.Contract.TaskSubjects()))
	for name := range lister.Name() {
		names = append(names, name)
	}
	if err := lister.Err(); err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// copiesFor is how long the list of copies counts while the number of streams stays the same. Of watched streams each look tells.
const copiesFor = time.Minute

// findCopies finds the mirrors and the streams that only have sources, and what they copy, whenever the number of streams has changed, and now and then.
func (n *IncarnationResolver) findCopies(ctx context.Context) error {
	account, err := n.cfg.JetStream.AccountInfo(ctx)
	if err != nil {
		return fmt.Errorf("read account: %w", err)
	}
	if n.copies != nil && n.count == account.Streams && time.Since(n.listed) < copiesFor {
		return nil
	}
	asked := time.Now()
	copies, copied := map[string]bool{}, map[string]bool{}
	lister := n.cfg.JetStream.ListStreams(ctx)
	for info := range lister.Info() {
		cfg := info.Config
		if n.copiesOnly(cfg) {
			copies[cfg.Name] = true
		}
		if cfg.Mirror != nil {
			copied[cfg.Mirror.Name] = true
		}
		for _, source := range cfg.Sources {
			copied[source.Name] = true
		}
	}
	if err := lister.Err(); err != nil {
		return fmt.Errorf("list streams: %w", err)
	}
	n.copies, n.copied, n.count, n.listed = copies, copied, account.Streams, asked
	return nil
}

// copiesOnly reports whether a stream holds nothing but copies of other streams' messages: it is a mirror, or has sources and takes no tasks itself.
func (n *IncarnationResolver) copiesOnly(cfg jetstream.StreamConfig) bool {
	return cfg.Mirror != nil || (len(cfg.Sources) > 0 && len(n.cfg.Contract.TaskStreams([]jetstream.StreamConfig{cfg})) == 0)
}

// Current is the live incarnation of a watched stream, or its last one when it does not exist now.
func (n *IncarnationResolver) Current(ctx context.Context, name string) (lifecycle.StreamID, error) {
	s, err := n.Observe(ctx)
	if err != nil {
		return lifecycle.StreamID{}, err
	}
	id := n.cfg.Contract.StreamID(name)
	if incarnations := s.Known[name]; len(incarnations) > 0 {
		id.Epoch = incarnations[len(incarnations)-1].Epoch
	}
	return id, nil
}

func (n *IncarnationResolver) load(ctx context.Context) error {
	if n.loaded {
		return nil
	}
	info, err := n.cfg.JetStream.AccountInfo(ctx)
	if err != nil {
		return fmt.Errorf("read account: %w", err)
	}
	n.home = info.Domain
	n.loaded = true
	return nil
}

// streamState is when a stream was created and how it is; zero when it does not exist.
type streamState struct {
	created    lifecycle.Micros
	last       LastSeq
	lastAt     lifecycle.Micros // When its last message was stored, be it there or not.
	msgs       uint64
	now        lifecycle.Micros // When the broker answered.
	replicated bool
	copiesOnly bool
}

// states are those of the named streams, in their order. The broker is asked about several at once.
func (n *IncarnationResolver) states(ctx context.Context, names []string) ([]streamState, error) {
	out := make([]streamState, len(names))
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(askedAtOnce)
	for i, name := range names {
		asking.Go(func() (err error) {
			out[i], err = n.state(ctx, name)
			return err
		})
	}
	err := asking.Wait()
	return out, err
}

func (n *IncarnationResolver) state(ctx context.Context, name string) (streamState, error) {
	stream, err := n.cfg.JetStream.Stream(ctx, name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return streamState{}, nil
	}
	if err != nil {
		return streamState{}, fmt.Errorf("read stream %s: %w", name, err)
	}
	info := stream.CachedInfo()
	cfg := info.Config
	return streamState{created: lifecycle.MicrosOf(info.Created), last: LastSeq{
		Seq: info.State.LastSeq, Window: cfg.Duplicates, Copies: len(cfg.Sources) > 0 || cfg.Mirror != nil, Kept: cfg.Retention != jetstream.WorkQueuePolicy,
		Consumers: info.State.Consumers, First: firstOf(info.State),
	}, lastAt: lifecycle.MicrosOf(info.State.LastTime), msgs: info.State.Msgs, now: lifecycle.MicrosOf(info.TimeStamp), replicated: cfg.Replicas > 1, copiesOnly: n.copiesOnly(cfg)}, nil
}

// firstOf is when the first message that a stream holds was stored; zero for none.
func firstOf(s jetstream.StreamState) lifecycle.Micros {
	if s.Msgs == 0 {
		return 0
	}
	return lifecycle.MicrosOf(s.FirstTime)
}

// latecomers is how many looks after a stream changed its advisories are read once more.
const latecomers = 3

// notice compares the creation time with what is known, and learns and stores what is new.
func (n *IncarnationResolver) notice(ctx context.Context, name string, live, first lifecycle.Micros) error {
	before, looked := n.seen[name]
	switch {
	case !looked || before != live:
		n.again[name] = latecomers
	case n.again[name] == 0:
		return nil
	}
	n.again[name]--
	stored, err := n.read(ctx, n.mark(name))
	if err != nil {
		return err
	}
	actions, err := n.actions(ctx, name)
	if err != nil {
		return err
	}
	incarnations := stored.Learn(actions, live)
	if stored == nil && live.Known() {
		captured, err := n.firstCaptured(ctx, name)
		if err != nil {
			return err
		}
		incarnations = incarnations.after(captured, live)
	}
	if last := len(incarnations) - 1; incarnations.cameBackUnseen(live, first) {
		if incarnations[last].Restored, err = n.restored(ctx, name, live); err != nil {
			return err
		}
	}
	if !slices.Equal(incarnations, stored) {
		if err := n.save(ctx, map[string]any{n.mark(name): incarnations}, incarnations.CameBack(name)); err != nil {
			return fmt.Errorf("store incarnations of %s: %w", name, err)
		}
	}
	n.known[name], n.seen[name] = incarnations, live
	return nil
}

// firstCaptured is when the first message of a stream was captured; zero where none is known.
func (n *IncarnationResolver) firstCaptured(ctx context.Context, name string) (at lifecycle.Micros, err error) {
	stream, err := n.cfg.JetStream.Stream(ctx, name)
	if err != nil {
		return 0, fmt.Errorf("read stream %s: %w", name, err)
	}
	pub, err := leader.Find(ctx, n.cfg.Capture, fleet.CapturePub)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", fleet.CapturePub, err)
	}
	lines, err := FirstLines(ctx, pub, n.cfg.Contract, name, stream.CachedInfo().Config.Subjects)
	for _, line := range lines {
		if !at.Known() || line.At < at {
			at = line.At
		}
	}
	return at, err
}

// restored is the last sequence of a stream whose message is older than the stream: a backup brought it. Messages are looked at by halves.
func (n *IncarnationResolver) restored(ctx context.Context, name string, created lifecycle.Micros) (uint64, error) {
	stream, err := leader.Find(ctx, n.cfg.JetStream, name)
	if err != nil {
		return 0, fmt.Errorf("read stream %s: %w", name, err)
	}
	state := stream.CachedInfo().State
	old, young := state.FirstSeq-min(state.FirstSeq, 1), state.LastSeq+1
	for young-old > 1 {
		at := old + (young-old)/2
		m, err := stream.NextMsg(ctx, at, ">")
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			young = at
		case err != nil:
			return 0, fmt.Errorf("read message %d of %s: %w", at, name, err)
		case lifecycle.MicrosOf(m.Time) < created:
			old = m.Sequence
		default:
			young = at
		}
	}
	return old, nil
}

func (n *IncarnationResolver) mark(name string) string {
	return "incarnations:" + n.cfg.Contract.StreamID(name).String()
}

func (n *IncarnationResolver) read(ctx context.Context, mark string) (incarnations Incarnations, err error) {
	err = n.readMark(ctx, mark, &incarnations)
	return incarnations, err
}

// readMark reads what is remembered by a mark; it changes nothing where nothing is.
func (n *IncarnationResolver) readMark(ctx context.Context, mark string, into any) error {
	text, err := n.cfg.Watermarks.Watermark(ctx, mark)
	if err != nil {
		return fmt.Errorf("read %s: %w", mark, err)
	}
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("decode %s: %w", mark, err)
	}
	return nil
}

// actions reads the advisories about the creation and deletion of a stream that OBS_EVT still keeps. Without OBS_EVT there are none.
func (n *IncarnationResolver) actions(ctx context.Context, name string) ([]StreamAction, error) {
	events, err := leader.Find(ctx, n.cfg.Capture, fleet.CaptureEvt)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read advisories about %s: %w", name, err)
	}
	var out []StreamAction
	for _, subject := range []string{"$JS.EVENT.ADVISORY.STREAM.CREATED." + name, "$JS.EVENT.ADVISORY.STREAM.DELETED." + name} {
		found, err := n.actionsOn(ctx, events, subject)
		if err != nil {
			return nil, fmt.Errorf("read advisories about %s: %w", name, err)
		}
		out = append(out, found...)
	}
	slices.SortStableFunc(out, func(a, b StreamAction) int { return cmp.Compare(a.At, b.At) })
	return out, nil
}

// maxActions bounds the advisories that are read: no stream is created so often, but whoever may publish can send as many as he likes.
const maxActions = 1000

// actionsOn reads the advisories of one subject. Each is asked for by itself, which needs no right to create consumers; there are few.
func (n *IncarnationResolver) actionsOn(ctx context.Context, events *leader.Stream, subject string) (out []StreamAction, err error) {
	seq := uint64(1)
	for range maxActions {
		m, err := events.NextMsg(ctx, seq, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		if a, ok := readStreamAction(m.Data, n.home, n.cfg.Contract.Domain); ok {
			out = append(out, a)
		}
		seq = m.Sequence + 1
	}
	return out, nil
}

func readStreamAction(body []byte, home, domain string) (StreamAction, bool) {
	var a struct {
		Type   string    `json:"type"`
		Time   time.Time `json:"timestamp"`
		Action string    `json:"action"`
		Domain string    `json:"domain"`
	}
	if json.Unmarshal(body, &a) != nil || a.Type != TypeStreamAction || (a.Action != "create" && a.Action != "delete") {
		return StreamAction{}, false
	}
	if a.Domain != "" && a.Domain != home && a.Domain != domain {
		return StreamAction{}, false
	}
	return StreamAction{At: lifecycle.MicrosOf(a.Time), Created: a.Action == "create"}, true
}

// TypeStreamAction is the type of advisories about streams.
const TypeStreamAction = "io.nats.jetstream.advisory.v1.stream_action"
