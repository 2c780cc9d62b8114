package lifecycle

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// TaskFacts is what a set of events proves about one task beyond its messages.
type TaskFacts struct {
	ID        string                   `json:"-"`
	Head      Head                     `json:"head"`                // The newest message.
	Messages  int                      `json:"messages,omitempty"`  // Distinct stored messages; kept by [Fold].
	Publishes map[string]*PublishFacts `json:"publishes,omitempty"` // By Nats-Msg-Id; none is nil.
	Unnamed   *PublishFacts            `json:"unnamed,omitempty"`   // Publishes without an id, each of another message; nil where none is known.
	Reports   []ReportFacts            `json:"reports,omitempty"`   // Sorted by message id, attempt, agent and who sent them.

	Copies    []DeliveryCopy `json:"copies,omitempty"`    // Messages of the task, as the ledger needs them; kept by [Fold], sorted by key and attempt.
	Completed []Completed    `json:"completed,omitempty"` // The distinct completions that records state, sorted.
	Erased    []Erased       `json:"erased,omitempty"`    // Records of it that were deleted, or whose time was over, sorted.
	Steps     []StepFacts    `json:"steps,omitempty"`     // Tool calls, sorted by tool, input and agent.

	Intents     []IntentFacts     `json:"intents,omitempty"`     // Effects that agents announced or confirmed, sorted.
	IntentsCut  bool              `json:"intents_cut,omitempty"` // There were more than are kept.
	Checkpoints []CheckpointFacts `json:"checkpoints,omitempty"` // By message id and agent.
	Effects     []LoggedEffect    `json:"effects,omitempty"`     // From the side-effect log, by key.

	Shared []SharedKey `json:"shared,omitempty"` // Other tasks that use a key of this one, or a key that names this one; sorted by key and task.

	Fallen []MessageKey `json:"fallen,omitempty"` // Its messages that may have died, or follow one that did; kept by [Fold], sorted.

	IngressAt      Micros           `json:"ingress,omitempty"`          // Somebody outside was told that the task is taken, as a report says.
	Completion     *CompletionFacts `json:"completion,omitempty"`       // The earliest completion record.
	NotStoredAt    Micros           `json:"not_stored,omitempty"`       // A publish attempt is known to have stored nothing.
	NotStoredDoubt string           `json:"not_stored_doubt,omitempty"` // Why it may nevertheless have been stored, or be the duplicate of something that was.
	UnboundSince   Micros           `json:"unbound,omitempty"`          // Reports and records from then on that name no message may be about one of which the publish line was lost.
	FirstAt        Micros           `json:"first,omitempty"`            // Earliest event about the task itself.
	LastAt         Micros           `json:"last,omitempty"`             // Latest event about the task itself.
	LastKind       Kind             `json:"last_kind,omitempty"`        // What it is.
	Agent          string           `json:"agent,omitempty"`            // Whom it is for, as said by events about the task itself.
	Addressed      bool             `json:"addressed,omitempty"`        // Agent is from publishes that were seen; else from what agents report and record.
	Type           string           `json:"type,omitempty"`             // As said by events about the task itself.
}

// Head names the newest message of a task: the highest generation, then the highest key.
type Head struct {
	Generation int        `json:"gen,omitempty"`
	Key        MessageKey `json:"key"`
}

func (h Head) less(o Head) bool {
	return cmp.Or(cmp.Compare(h.Generation, o.Generation), cmp.Compare(h.Key.Stream.Epoch, o.Key.Stream.Epoch), h.Key.Compare(o.Key)) < 0
}

// shown is the message by which the task is shown: the newest one, unless that is over and an older one is in a worker's hands.
func (t *TaskFacts) shown() MessageKey {
	var held MessageKey
	for _, c := range t.Copies {
		switch {
		case c.Key == t.Head.Key && (c.InHand || !c.To.Known()):
			return c.Key
		case c.InHand:
			held = c.Key
		}
	}
	if held.IsZero() {
		return t.Head.Key
	}
	return held
}

// Candidates are the messages by which the task may be shown, the newest one and those in workers' hands, and those that concern entries
// of dead letters.
func (t *TaskFacts) Candidates() []MessageKey {
	var out []MessageKey
	if !t.Head.Key.IsZero() {
		out = append(out, t.Head.Key)
	}
	for _, c := range t.Copies {
		if c.InHand && !slices.Contains(out, c.Key) {
			out = append(out, c.Key)
		}
	}
	for _, k := range t.Fallen {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// DeliveryCopy is what the duplicate ledger needs to know of one message of a task, or of one of several attempts that acknowledged it.
type DeliveryCopy struct {
	Key     MessageKey `json:"k"`
	IdemKey string     `json:"key,omitempty"`
	Hash    string     `json:"hash,omitempty"`
	MsgID   string     `json:"msg_id,omitempty"`
	At      Micros     `json:"at,omitempty"`     // When it was stored; zero when that was not seen.
	AckedAt Micros     `json:"acked,omitempty"`  // By that attempt, and not refuted.
	Attempt int        `json:"n,omitempty"`      // The attempt that acknowledged.
	After   Micros     `json:"after,omitempty"`  // That attempt began no earlier than this, as far as is known.
	Surely  Micros     `json:"surely,omitempty"` // And surely no earlier than this.
	By      Micros     `json:"by,omitempty"`     // And no later than this.
	Silent  bool       `json:"silent,omitempty"` // When an attempt before it ended is not known.
	Worked  bool       `json:"worked,omitempty"` // That attempt sent heartbeats.
	Beside  bool       `json:"beside,omitempty"` // Another one, which did not acknowledge, sent heartbeats while that attempt was in hand.

	Agent    string `json:"agent,omitempty"` // Whom the message is for.
	Attempts int    `json:"ns,omitempty"`    // Attempts that the wire or the broker proves.
	To       Micros `json:"to,omitempty"`    // When it was over (answered, dead or removed), by the wire or the broker; zero while it is not.
	Lost     bool   `json:"lost,omitempty"`  // It was over without an answer of the worker that had it, who may go on, and report.
	Gone     Micros `json:"gone,omitempty"`  // It had left the stream unanswered by then.
	InHand   bool   `json:"hand,omitempty"`  // A worker has it, by the wire or the broker.
	Never    bool   `json:"never,omitempty"` // It was removed, and no worker ever had it.

	Runs    []AttemptRun `json:"runs,omitempty"`    // The attempts of which the begin is known, by number: the first and the latest ones.
	Workers []string     `json:"workers,omitempty"` // The agents whose consumers each got it, where there are several, or the one whose consumer takes another agent's tasks; nil where neither is so.

	Publisher string `json:"pub,omitempty"` // Who published it, by the word of its headers.
}

// Completed is one completion that an idempotency record states. A record that is written again with the same stated time and message is the
// same completion: whether two attempts at one message recorded in the same millisecond nobody can tell.
type Completed struct {
	Stated Micros `json:"s"`           // By the agent's clock.
	Key    string `json:"k,omitempty"` // The idempotency key, where the record names one.
	Seq    uint64 `json:"q,omitempty"` // The stream sequence that the record names; zero where it names none.
	At     Micros `json:"t"`           // When the record store took it, by that store's clock: this one is compared with the broker's times.
	Again  Micros `json:"w,omitempty"` // When it last took it again; zero where it did not.
}

// StepFacts is one tool call with one canonical input, and the steps that made it, as one agent reports them.
type StepFacts struct {
	Tool  string   `json:"tool"`
	Input string   `json:"input"`
	Agent string   `json:"agent,omitempty"`
	Steps []string `json:"steps"`        // Distinct step ids, sorted.
	At    Micros   `json:"at,omitempty"` // The earliest.
	Last  Micros   `json:"last,omitempty"`
}

// Bounds of the sets of a task, so that a publisher in a loop cannot grow a row without end. Sets keep their smallest members,
// which keeps the join commutative; counts at the bound read "at least".
const (
	maxAttemptsKept  = 1000
	maxPublishesKept = 256
	maxReportsKept   = 512
	maxReportsOfOne  = 128 // Of one agent, or of who reports in agents' names: nobody takes the place of another's.
	maxCopiesKept    = 64
	maxCompletedKept = 64
	maxStepsKept     = 256
	maxStepIDsKept   = 16
	maxFallenKept    = 64
	maxSharedKept    = 64
)

// CompletionFacts is an idempotency record.
type CompletionFacts struct {
	At          Micros `json:"at"`
	Agent       string `json:"agent,omitempty"`
	Key         string `json:"key,omitempty"`
	PayloadHash string `json:"hash,omitempty"`
	ExpiresAt   Micros `json:"expires,omitempty"`
	Source      string `json:"source,omitempty"`
}

// ReportFacts is what an agent said about one attempt.
type ReportFacts struct {
	MsgID          string `json:"msg_id,omitempty"` // Empty when the report does not say which message.
	Attempt        int    `json:"n,omitempty"`
	Agent          string `json:"agent,omitempty"` // Whose attempt it is, as the report says.
	By             string `json:"by,omitempty"`    // Who sent it, where nothing proves that to be the agent.
	ClaimedAt      Micros `json:"claimed,omitempty"`
	AcceptedAt     Micros `json:"accepted,omitempty"`
	BeatAt         Micros `json:"beat,omitempty"`
	CompletedAt    Micros `json:"completed,omitempty"`
	FailedAt       Micros `json:"failed,omitempty"`
	FailedWhy      string `json:"failed_why,omitempty"`
	SentAt         Micros `json:"sent,omitempty"`
	DuplicateAt    Micros `json:"dup,omitempty"` // The agent skipped the work because it had been done.
	ReceiptAt      Micros `json:"receipt,omitempty"`
	CheckpointAt   Micros `json:"checkpoint,omitempty"`
	Owner          string `json:"owner,omitempty"` // Of the highest lease version.
	LeaseVersion   uint64 `json:"lease,omitempty"`
	LeaseExpiresAt Micros `json:"lease_exp,omitempty"`

	RecordsWait time.Duration `json:"records_wait,omitempty"` // What it waited for the idempotency records: the longest that was said; zero when nothing was.
	HeardAt     Micros        `json:"heard,omitempty"`        // When the report of its completion came: the agent's own clock may be wrong. Zero when not known.

	// A message id may come again once the stream's duplicate window is over, and a consumer that is created anew numbers its attempts from one, so that
	// reports about two are kept together.
	LastClaimedAt   Micros `json:"last_claimed,omitempty"` // Zero where there is one claim alone.
	LastAcceptedAt  Micros `json:"last_accepted,omitempty"`
	LastCompletedAt Micros `json:"last_completed,omitempty"`
	LastHeardAt     Micros `json:"last_heard,omitempty"` // When the last report of a completion came; zero when not known.

	InputTokens  int64 `json:"tokens_in,omitempty"` // The most that was said of each; zero where nothing was.
	OutputTokens int64 `json:"tokens_out,omitempty"`
	Cost         int64 `json:"cost,omitempty"` // In millionths of a USD.

	PublishDuplicates []Micros `json:"pub_dup,omitempty"` // When the stream answered publishes of the agent that they are duplicates.
}

// completedBy is when the completion that is reported had surely happened.
func (r *ReportFacts) completedBy() Micros { return firstKnown(r.HeardAt, r.CompletedAt) }

// started reports whether the agent says that its runtime began the work, or something that shows it.
func (r *ReportFacts) started() bool {
	return max(r.AcceptedAt, r.BeatAt, r.ReceiptAt, r.CheckpointAt, r.SentAt, r.CompletedAt, r.FailedAt, r.DuplicateAt).Known()
}

// ended is when the attempt ended, as its agent says; zero when it did not say so.
func (r *ReportFacts) ended() Micros {
	return firstKnown(firstKnown(r.CompletedAt, r.DuplicateAt), r.FailedAt)
}

// recordsWaited is when the attempt ended that said how long it waited for the idempotency records; zero when it did not say so.
func (r *ReportFacts) recordsWaited() Micros {
	if r.RecordsWait <= 0 {
		return 0
	}
	return firstKnown(r.CompletedAt, r.DuplicateAt)
}

// Join adds what e, an event about the task itself, proves.
func (t *TaskFacts) Join(e Event) {
	t.FirstAt = earliest(t.FirstAt, e.At)
	t.LastAt, t.LastKind = latestEvent(t.LastAt, t.LastKind, e.At, e.Kind)
	t.joinAgent(e.Agent, e.Kind == PublishAttempted)
	switch e.Kind {
	case PublishAttempted:
		t.Type = leastText(t.Type, e.Detail.Type)
		t.editPublish(e.Detail.MsgID, func(p *PublishFacts) { p.attempted(e) })
	case PublishSwallowed:
		t.editPublish(e.Detail.MsgID, func(p *PublishFacts) { p.swallowed(e.Detail) })
	case NotStored:
		t.NotStoredAt = latest(t.NotStoredAt, e.At)
		t.NotStoredDoubt = leastText(t.NotStoredDoubt, e.Detail.Reason)
	case CompletionRecorded:
		c := CompletionFacts{At: e.At, Agent: e.Agent, Key: e.Detail.IdempotencyKey, PayloadHash: e.Detail.PayloadHash, ExpiresAt: e.Detail.ExpiresAt, Source: e.Source}
		if t.Completion == nil || compareCompletion(c, *t.Completion) < 0 {
			t.Completion = &c
		}
		t.joinCompleted(Completed{Stated: firstKnown(e.Detail.CreatedAt, e.At), Key: e.Detail.IdempotencyKey, Seq: e.Detail.RecordSeq, At: e.At})
	case RecordDeleted, RecordExpired:
		t.joinErased(e)
	case KeyShared:
		t.joinShared(e)
	case Unbound:
		t.UnboundSince = earliest(t.UnboundSince, e.At)
	case EffectLogged:
		t.joinIntent(e)
	default:
		if e.Provenance == Reported {
			t.joinReport(e)
			t.joinStep(e)
			t.joinIntent(e)
		}
	}
}

// joinAgent adds whom an event names. Where a publish was addressed to somebody, what reports and records say of it does not count: anybody may write them.
func (t *TaskFacts) joinAgent(agent string, addressed bool) {
	switch {
	case agent == "":
	case addressed && !t.Addressed:
		t.Agent, t.Addressed = agent, true
	case addressed == t.Addressed:
		t.Agent = leastText(t.Agent, agent)
	}
}

// joinCompleted adds a completion, or a time at which it was recorded.
func (t *TaskFacts) joinCompleted(c Completed) {
	i, found := slices.BinarySearchFunc(t.Completed, c, func(x, c Completed) int {
		return cmp.Or(cmp.Compare(x.Stated, c.Stated), cmp.Compare(x.Key, c.Key), cmp.Compare(x.Seq, c.Seq))
	})
	if found {
		t.Completed[i].written(c.At)
		return
	}
	t.Completed = slices.Insert(t.Completed, i, c)
	t.Completed = t.Completed[:min(len(t.Completed), maxCompletedKept)]
}

// written notes another time at which the record store took the completion.
func (c *Completed) written(at Micros) {
	if last := max(c.At, c.Again, at); last > earliest(c.At, at) {
		c.Again = last
	}
	c.At = earliest(c.At, at)
}

// sameMoment reports whether two records state the same time and key.
func (c Completed) sameMoment(o Completed) bool { return c.Stated == o.Stated && c.Key == o.Key }

// Completions are those that records state. One that names no message may be any that the same time and key are stated of, so that it counts for none
// of its own.
func (t *TaskFacts) Completions() (out []Completed) {
	for _, c := range t.Completed {
		if last := len(out) - 1; last >= 0 && out[last].Seq == 0 && out[last].sameMoment(c) {
			c.At = earliest(c.At, out[last].At)
			out[last] = c
			continue
		}
		out = append(out, c)
	}
	return out
}

// joinStep notes which steps called a tool with which canonical input (SPEC 4: semantic duplicates).
func (t *TaskFacts) joinStep(e Event) {
	d := e.Detail
	if e.Kind != ReportStepIntent || d.Tool == "" || d.InputHash == "" || d.StepID == "" {
		return
	}
	probe := StepFacts{Tool: d.Tool, Input: d.InputHash, Agent: e.Agent}
	i, found := slices.BinarySearchFunc(t.Steps, probe, func(a, b StepFacts) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Input, b.Input), cmp.Compare(a.Agent, b.Agent))
	})
	if !found {
		t.Steps = slices.Insert(t.Steps, i, probe)
	}
	s := &t.Steps[i]
	s.At, s.Last = earliest(s.At, e.At), latest(s.Last, e.At)
	if j, found := slices.BinarySearch(s.Steps, d.StepID); !found {
		s.Steps = slices.Insert(slices.Clip(s.Steps), j, d.StepID)
		s.Steps = s.Steps[:min(len(s.Steps), maxStepIDsKept)]
	}
	t.Steps = t.Steps[:min(len(t.Steps), maxStepsKept)]
}

// keepCopies replaces what the task knows of message m, of which v is the verdict by the wire. The copies with the least keys are kept.
func (t *TaskFacts) keepCopies(m *MessageFacts, v Verdict) {
	from, _ := slices.BinarySearchFunc(t.Copies, m.Key, func(c DeliveryCopy, k MessageKey) int { return c.Key.Compare(k) })
	to := from
	for to < len(t.Copies) && t.Copies[to].Key == m.Key {
		to++
	}
	t.Copies = slices.Replace(t.Copies, from, to, copiesOf(m, v)...)
	t.Copies = t.Copies[:min(len(t.Copies), maxCopiesKept)]
}

// dropMessage forgets a message that was found to belong to another task.
func (t *TaskFacts) dropMessage(k MessageKey) {
	t.Messages--
	if t.Head.Key == k {
		t.Head = Head{}
	}
	t.Copies = slices.DeleteFunc(t.Copies, func(c DeliveryCopy) bool { return c.Key == k })
	t.Fallen = slices.DeleteFunc(t.Fallen, func(f MessageKey) bool { return f == k })
}

// keepMessage notes what a task keeps of a message that belongs to it. v is its verdict by the wire.
func (t *TaskFacts) keepMessage(m *MessageFacts, v Verdict) {
	head := Head{Key: m.Key}
	if m.Stored != nil {
		head.Generation = m.Stored.Generation
		t.editPublish(m.Stored.MsgID, func(p *PublishFacts) { p.stored(m.Key, m.Stored.At, m.Stored.Window) })
	}
	if t.Head.Key.IsZero() || t.Head.less(head) {
		t.Head = head
	}
	t.keepCopies(m, v)
	t.keepFallen(m)
}

// boundReports drops the last report of whoever has too many, and the last ones of a task that does.
func (t *TaskFacts) boundReports(of ReportFacts) {
	n, last := 0, 0
	for i, r := range t.Reports {
		if r.By == of.By && (r.By != "" || r.Agent == of.Agent) {
			n, last = n+1, i
		}
	}
	if n > maxReportsOfOne {
		t.Reports = slices.Delete(t.Reports, last, last+1)
	}
	t.Reports = t.Reports[:min(len(t.Reports), maxReportsKept)]
}

func (t *TaskFacts) joinReport(e Event) {
	probe := ReportFacts{MsgID: e.Detail.MsgID, Attempt: e.Attempt, Agent: e.Agent, By: e.Detail.ReportedBy}
	i, found := slices.BinarySearchFunc(t.Reports, probe, func(a, b ReportFacts) int {
		return cmp.Or(cmp.Compare(a.MsgID, b.MsgID), cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.By, b.By))
	})
	if !found {
		t.Reports = slices.Insert(t.Reports, i, probe)
	}
	defer t.boundReports(probe)
	r := &t.Reports[i]
	switch e.Kind {
	case ReportIngressAcked:
		t.IngressAt = earliest(t.IngressAt, e.At)
	case ReportClaimed:
		last := latest(latest(r.ClaimedAt, r.LastClaimedAt), e.At)
		if r.ClaimedAt, r.LastClaimedAt = earliest(r.ClaimedAt, e.At), last; r.ClaimedAt == last {
			r.LastClaimedAt = 0
		}
	case ReportAccepted:
		r.AcceptedAt, r.LastAcceptedAt = earliest(r.AcceptedAt, e.At), latest(r.LastAcceptedAt, e.At)
	case ReportHeartbeat:
		r.BeatAt = latest(r.BeatAt, e.At)
	case ReportCompleted:
		r.CompletedAt, r.LastCompletedAt = earliest(r.CompletedAt, e.At), latest(r.LastCompletedAt, e.At)
		if e.Detail.HeardAt.Known() {
			heard := max(e.At, e.Detail.HeardAt)
			r.HeardAt, r.LastHeardAt = earliest(r.HeardAt, heard), latest(r.LastHeardAt, heard)
		}
		r.RecordsWait = max(r.RecordsWait, e.Detail.RecordsWait)
	case ReportFailed:
		r.FailedAt = earliest(r.FailedAt, e.At)
		r.FailedWhy = leastText(r.FailedWhy, e.Detail.Reason)
	case ReportDuplicateCaught:
		r.DuplicateAt = earliest(r.DuplicateAt, e.At)
		r.RecordsWait = max(r.RecordsWait, e.Detail.RecordsWait)
	case ReportPublishDuplicate:
		r.saidDuplicate(e.At)
	case ReportOutboundSent:
		r.SentAt = earliest(r.SentAt, e.At)
	case ReportStepReceipt:
		r.ReceiptAt = latest(r.ReceiptAt, e.At)
	case ReportCheckpoint:
		r.CheckpointAt = latest(r.CheckpointAt, e.At)
	}
	r.joinLease(e.Detail)
	r.joinUse(e.Detail.ModelUse)
}

// joinLease keeps the lease with the highest fencing token; among equals the latest expiry, then the least owner.
func (r *ReportFacts) joinLease(d Detail) {
	if d.LeaseOwner == "" && d.LeaseVersion == 0 && d.LeaseExpiresAt == 0 {
		return
	}
	c := cmp.Or(cmp.Compare(d.LeaseVersion, r.LeaseVersion), cmp.Compare(d.LeaseExpiresAt, r.LeaseExpiresAt), cmp.Compare(r.Owner, d.LeaseOwner))
	if c > 0 || (r.Owner == "" && r.LeaseVersion == 0 && r.LeaseExpiresAt == 0) {
		r.Owner, r.LeaseVersion, r.LeaseExpiresAt = d.LeaseOwner, d.LeaseVersion, d.LeaseExpiresAt
	}
}

func compareCompletion(a, b CompletionFacts) int {
	return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Key, b.Key),
		cmp.Compare(a.PayloadHash, b.PayloadHash), cmp.Compare(a.ExpiresAt, b.ExpiresAt), cmp.Compare(a.Source, b.Source))
}

// Clone returns a copy that shares nothing.
func (t TaskFacts) Clone() TaskFacts {
	t.Publishes = maps.Clone(t.Publishes)
	for id, p := range t.Publishes {
		own := *p
		own.Recorded, own.Heard, own.Stored = slices.Clone(p.Recorded), slices.Clone(p.Heard), slices.Clone(p.Stored)
		t.Publishes[id] = &own
	}
	t.Reports = slices.Clone(t.Reports)
	for i := range t.Reports {
		t.Reports[i].PublishDuplicates = slices.Clone(t.Reports[i].PublishDuplicates)
	}
	t.Copies = slices.Clone(t.Copies)
	t.Completed, t.Erased = slices.Clone(t.Completed), slices.Clone(t.Erased)
	t.Shared, t.Fallen = slices.Clone(t.Shared), slices.Clone(t.Fallen)
	t.Intents, t.Checkpoints, t.Effects = slices.Clone(t.Intents), slices.Clone(t.Checkpoints), slices.Clone(t.Effects)
	for i := range t.Intents {
		t.Intents[i].Intents, t.Intents[i].Receipts = slices.Clone(t.Intents[i].Intents), slices.Clone(t.Intents[i].Receipts)
	}
	t.Steps = slices.Clone(t.Steps)
	for i := range t.Steps {
		t.Steps[i].Steps = slices.Clone(t.Steps[i].Steps)
	}
	return t
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
