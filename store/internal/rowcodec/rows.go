package rowcodec

import (
	"time"

	"fleetglass/dlqtriage"
	"fleetglass/lifecycle"
)

// The structs of this file are the format of the rows. Each mirrors a struct of lifecycle: the same fields in the same order, so that the
// compiler refuses to convert the one into the other when a field is forgotten. A tag is the name of its field in stored rows. It is
// never changed, and never given to another field. A field that is zero is left out, a name that is not known is skipped: rows of older
// and of newer versions can be read. A field with the tag "-" lies in a column of its own. Tuples are written without names; their fields
// may be added at the end only.

//go:generate go tool -modfile=../../../tools/go.mod msgp -io=false -tests=false -unexported -file rows.go -o rows_gen.go

//msgp:limit arrays:1048576 maps:1048576

//msgp:vartuple detailRow messageKeyRow streamIDRow publishAttemptRow

//msgp:replace dlqtriage.Category with:string
//msgp:replace dlqtriage.Class with:classRow
//msgp:replace dlqtriage.Classification with:entryClassificationRow
//msgp:replace dlqtriage.Kind with:string
//msgp:replace dlqtriage.Next with:nextRow
//msgp:replace dlqtriage.Outcome with:string
//msgp:replace dlqtriage.Path with:string
//msgp:replace dlqtriage.Status with:string
//msgp:replace lifecycle.AnomalyCode with:string
//msgp:replace lifecycle.AttemptFacts with:attemptFactsRow
//msgp:replace lifecycle.AttemptRun with:attemptRunRow
//msgp:replace lifecycle.ClassFacts with:classFactsRow
//msgp:replace lifecycle.Classification with:classificationRow
//msgp:replace lifecycle.Claim with:claimRow
//msgp:replace lifecycle.Completed with:completedRow
//msgp:replace lifecycle.CompletionFacts with:completionFactsRow
//msgp:replace lifecycle.ConsumerFacts with:consumerFactsRow
//msgp:replace lifecycle.DeliveryCopy with:deliveryCopyRow
//msgp:replace lifecycle.DeadFacts with:deadFactsRow
//msgp:replace lifecycle.DeadLetter with:deadLetterRow
//msgp:replace lifecycle.DeliveryFacts with:deliveryFactsRow
//msgp:replace lifecycle.Detail with:detailRow
//msgp:replace lifecycle.Ending with:endingRow
//msgp:replace lifecycle.Erased with:erasedRow
//msgp:replace lifecycle.EventID with:uint64
//msgp:replace lifecycle.Evidence with:evidenceRow
//msgp:replace lifecycle.Expiry with:expiryRow
//msgp:replace lifecycle.Head with:headRow
//msgp:replace lifecycle.CheckpointFacts with:checkpointFactsRow
//msgp:replace lifecycle.IntentFacts with:intentFactsRow
//msgp:replace lifecycle.LastReport with:lastReportRow
//msgp:replace lifecycle.LoggedEffect with:loggedEffectRow
//msgp:replace lifecycle.Kind with:string
//msgp:replace lifecycle.LeaseReport with:leaseReportRow
//msgp:replace lifecycle.MessageKey with:messageKeyRow
//msgp:replace lifecycle.Micros with:int64
//msgp:replace lifecycle.ModelTotal with:modelTotalRow
//msgp:replace lifecycle.ModelUse with:modelUseRow
//msgp:replace lifecycle.Naming with:namingRow
//msgp:replace lifecycle.Outcome with:string
//msgp:replace lifecycle.OutcomeReport with:outcomeReportRow
//msgp:replace lifecycle.Provenance with:string
//msgp:replace lifecycle.Publication with:publicationRow
//msgp:replace lifecycle.PublishAttempt with:publishAttemptRow
//msgp:replace lifecycle.PublishFacts with:publishFactsRow
//msgp:replace lifecycle.Removal with:string
//msgp:replace lifecycle.ReportFacts with:reportFactsRow
//msgp:replace lifecycle.SharedKey with:sharedKeyRow
//msgp:replace lifecycle.Standing with:standingRow
//msgp:replace lifecycle.State with:string
//msgp:replace lifecycle.StepFacts with:stepFactsRow
//msgp:replace lifecycle.StepReport with:stepReportRow
//msgp:replace lifecycle.StoredFacts with:storedFactsRow
//msgp:replace lifecycle.StreamID with:streamIDRow
//msgp:replace lifecycle.Timing with:timingRow
//msgp:replace lifecycle.Triage with:triageRow
//msgp:replace lifecycle.TriageFacts with:triageFactsRow
//msgp:replace lifecycle.Watcher with:watcherRow

// headersRow are the headers of a message or a line.
type headersRow map[string][]string

type eventRow struct {
	ID          lifecycle.EventID    `msg:"-"`
	At          lifecycle.Micros     `msg:"-"`
	Kind        lifecycle.Kind       `msg:"a,omitempty"`
	Provenance  lifecycle.Provenance `msg:"b,omitempty"`
	Source      string               `msg:"c,omitempty"`
	SourceSeq   uint64               `msg:"d,omitempty"`
	TaskID      string               `msg:"-"`
	Message     lifecycle.MessageKey `msg:"-"`
	Agent       string               `msg:"e,omitempty"`
	Consumer    string               `msg:"f,omitempty"`
	ConsumerSeq uint64               `msg:"g,omitempty"`
	Attempt     int                  `msg:"h,omitempty"`
	Detail      lifecycle.Detail     `msg:"i"`
	Raw         []byte               `msg:"j,omitempty"`
}

type detailRow struct {
	lifecycle.Naming
	lifecycle.Publication
	lifecycle.Ending
	lifecycle.Timing
	lifecycle.DeadLetter
	lifecycle.LeaseReport
	lifecycle.StepReport
	lifecycle.OutcomeReport
	lifecycle.ModelUse
	lifecycle.Triage
	lifecycle.Classification
	lifecycle.Standing
}

type namingRow struct {
	MsgID          string `msg:"a,omitempty"`
	Subject        string `msg:"b,omitempty"`
	Type           string `msg:"c,omitempty"`
	IdempotencyKey string `msg:"d,omitempty"`
	RecordSeq      uint64 `msg:"e,omitempty"`
	PayloadHash    string `msg:"f,omitempty"`
	Owner          string `msg:"g,omitempty"`
}

type publicationRow struct {
	Generation   int           `msg:"a,omitempty"`
	RetryOf      string        `msg:"b,omitempty"`
	TriageAction string        `msg:"c,omitempty"`
	TraceParent  string        `msg:"d,omitempty"`
	Publisher    string        `msg:"j,omitempty"`
	Title        string        `msg:"e,omitempty"`
	Size         int64         `msg:"f,omitempty"`
	TTL          time.Duration `msg:"g,omitempty"`
	Window       time.Duration `msg:"i,omitempty"`
	Schedule     string        `msg:"k,omitempty"`
	Target       string        `msg:"l,omitempty"`
	BestEffort   bool          `msg:"h,omitempty"`
}

type endingRow struct {
	Delay       time.Duration     `msg:"a,omitempty"`
	Reason      string            `msg:"b,omitempty"`
	Removal     lifecycle.Removal `msg:"c,omitempty"`
	Undelivered bool              `msg:"d,omitempty"`
	AckTime     time.Duration     `msg:"e,omitempty"`
}

type timingRow struct {
	CreatedAt lifecycle.Micros `msg:"a,omitempty"`
	Basis     lifecycle.Micros `msg:"b,omitempty"`
	Deadline  lifecycle.Micros `msg:"c,omitempty"`
	Judged    lifecycle.Micros `msg:"d,omitempty"`
	AtLatest  bool             `msg:"f,omitempty"`
	Exact     bool             `msg:"e,omitempty"`
}

type deadLetterRow struct {
	Category       string           `msg:"a,omitempty"`
	Path           string           `msg:"b,omitempty"`
	Entry          string           `msg:"c,omitempty"`
	CategoryDetail string           `msg:"d,omitempty"`
	Deliveries     int              `msg:"e,omitempty"`
	FailedAt       lifecycle.Micros `msg:"f,omitempty"`
	OfTask         string           `msg:"g,omitempty"`
}

type leaseReportRow struct {
	LeaseOwner     string           `msg:"a,omitempty"`
	LeaseVersion   uint64           `msg:"b,omitempty"`
	LeaseExpiresAt lifecycle.Micros `msg:"c,omitempty"`
}

type stepReportRow struct {
	StepID    string `msg:"a,omitempty"`
	StepClass string `msg:"b,omitempty"`
	Tool      string `msg:"c,omitempty"`
	InputHash string `msg:"d,omitempty"`
}

type outcomeReportRow struct {
	ResultRef   string           `msg:"a,omitempty"`
	Status      string           `msg:"b,omitempty"`
	ExpiresAt   lifecycle.Micros `msg:"c,omitempty"`
	ReportedBy  string           `msg:"e,omitempty"`
	HeardAt     lifecycle.Micros `msg:"f,omitempty"`
	RecordsWait time.Duration    `msg:"d,omitempty"`
}

type modelUseRow struct {
	Model        string  `msg:"a,omitempty"`
	InputTokens  int64   `msg:"b,omitempty"`
	OutputTokens int64   `msg:"c,omitempty"`
	CostUSD      float64 `msg:"d,omitempty"`
}

type triageRow struct {
	Revision uint64            `msg:"a,omitempty"`
	Outcome  lifecycle.Outcome `msg:"b,omitempty"`
	Action   string            `msg:"c,omitempty"`
	Actor    string            `msg:"d,omitempty"`
	Until    lifecycle.Micros  `msg:"e,omitempty"`
	ActionID string            `msg:"f,omitempty"`
	Via      string            `msg:"g,omitempty"`
	OfN      int               `msg:"i,omitempty"`

	OfConsumer string `msg:"j,omitempty"`
}

type classificationRow struct {
	CauseKind string               `msg:"a,omitempty"`
	Rule      string               `msg:"b,omitempty"`
	Evidence  []lifecycle.Evidence `msg:"c,omitempty"`
}

type evidenceRow struct {
	Source string `msg:"a,omitempty"`
	Text   string `msg:"b,omitempty"`
}

type standingRow struct {
	Unproved bool             `msg:"a,omitempty"`
	Watches  bool             `msg:"c,omitempty"`
	Apart    bool             `msg:"d,omitempty"`
	Own      bool             `msg:"e,omitempty"`
	Former   bool             `msg:"f,omitempty"`
	Beside   []string         `msg:"g,omitempty"`
	SaidAt   lifecycle.Micros `msg:"b,omitempty"`
}

type messageFactsRow struct {
	Key             lifecycle.MessageKey      `msg:"-"`
	TaskID          string                    `msg:"a,omitempty"`
	Agent           string                    `msg:"b,omitempty"`
	Worker          string                    `msg:"c,omitempty"`
	Consumer        string                    `msg:"d,omitempty"`
	Stored          *lifecycle.StoredFacts    `msg:"e,omitempty"`
	Attempts        []lifecycle.AttemptFacts  `msg:"f,omitempty"`
	Former          []lifecycle.AttemptFacts  `msg:"J,omitempty"`
	Deliveries      []lifecycle.DeliveryFacts `msg:"g,omitempty"`
	Claims          []lifecycle.Claim         `msg:"D,omitempty"`
	Watchers        []lifecycle.Watcher       `msg:"E,omitempty"`
	Consumers       []lifecycle.ConsumerFacts `msg:"F,omitempty"`
	MaxDeliveriesAt lifecycle.Micros          `msg:"h,omitempty"`
	MaxDeliveriesN  int                       `msg:"K,omitempty"`
	ExhaustedSaid   lifecycle.Micros          `msg:"A,omitempty"`
	ExhaustedSaidN  int                       `msg:"B,omitempty"`
	ExhaustedDenied lifecycle.Micros          `msg:"C,omitempty"`
	ExhaustedForged lifecycle.Micros          `msg:"L,omitempty"`
	RecreatedAt     lifecycle.Micros          `msg:"i,omitempty"`
	RefutedAt       lifecycle.Micros          `msg:"j,omitempty"`
	VanishedAt      lifecycle.Micros          `msg:"k,omitempty"`
	VanishedWhy     string                    `msg:"l,omitempty"`
	Removal         lifecycle.Removal         `msg:"m,omitempty"`
	Undelivered     bool                      `msg:"n,omitempty"`
	OrphanedAt      lifecycle.Micros          `msg:"o,omitempty"`
	AdoptedAt       lifecycle.Micros          `msg:"p,omitempty"`
	StrandedAt      lifecycle.Micros          `msg:"H,omitempty"`
	StrandedN       int                       `msg:"I,omitempty"`
	Entries         []lifecycle.DeadFacts     `msg:"w,omitempty"`
	Dead            *lifecycle.DeadFacts      `msg:"q,omitempty"`
	Triage          *lifecycle.TriageFacts    `msg:"r,omitempty"`
	Handled         *lifecycle.TriageFacts    `msg:"z,omitempty"`
	Asked           *lifecycle.TriageFacts    `msg:"y,omitempty"`
	Classified      *lifecycle.ClassFacts     `msg:"x,omitempty"`
	Repaired        bool                      `msg:"s,omitempty"`
	Forged          bool                      `msg:"t,omitempty"`
	FirstAt         lifecycle.Micros          `msg:"u,omitempty"`
	LastAt          lifecycle.Micros          `msg:"v,omitempty"`
	LastKind        lifecycle.Kind            `msg:"G,omitempty"`
}

type consumerFactsRow struct {
	Consumer        string                    `msg:"a,omitempty"`
	Worker          string                    `msg:"b,omitempty"`
	Attempts        []lifecycle.AttemptFacts  `msg:"c,omitempty"`
	Former          []lifecycle.AttemptFacts  `msg:"k,omitempty"`
	Deliveries      []lifecycle.DeliveryFacts `msg:"d,omitempty"`
	Claims          []lifecycle.Claim         `msg:"e,omitempty"`
	MaxDeliveriesAt lifecycle.Micros          `msg:"f,omitempty"`
	MaxDeliveriesN  int                       `msg:"n,omitempty"`
	ExhaustedSaid   lifecycle.Micros          `msg:"g,omitempty"`
	ExhaustedSaidN  int                       `msg:"h,omitempty"`
	ExhaustedDenied lifecycle.Micros          `msg:"i,omitempty"`
	ExhaustedForged lifecycle.Micros          `msg:"o,omitempty"`
	RecreatedAt     lifecycle.Micros          `msg:"j,omitempty"`
	OwesAt          lifecycle.Micros          `msg:"l,omitempty"`
	NotTakenAt      lifecycle.Micros          `msg:"m,omitempty"`
}

type storedFactsRow struct {
	At             lifecycle.Micros `msg:"a,omitempty"`
	MsgID          string           `msg:"b,omitempty"`
	Subject        string           `msg:"c,omitempty"`
	Type           string           `msg:"d,omitempty"`
	Title          string           `msg:"e,omitempty"`
	IdempotencyKey string           `msg:"f,omitempty"`
	PayloadHash    string           `msg:"g,omitempty"`
	Generation     int              `msg:"h,omitempty"`
	RetryOf        string           `msg:"i,omitempty"`
	TraceParent    string           `msg:"j,omitempty"`
	Publisher      string           `msg:"q,omitempty"`
	CreatedAt      lifecycle.Micros `msg:"k,omitempty"`
	Size           int64            `msg:"l,omitempty"`
	TTL            time.Duration    `msg:"m,omitempty"`
	Window         time.Duration    `msg:"p,omitempty"`
	Schedule       string           `msg:"r,omitempty"`
	Target         string           `msg:"s,omitempty"`
	Agent          string           `msg:"n,omitempty"`
	Line           uint64           `msg:"o,omitempty"`
}

type attemptFactsRow struct {
	N           int                `msg:"a,omitempty"`
	CSeqs       []uint64           `msg:"b,omitempty"`
	CSeqAt      []lifecycle.Micros `msg:"r,omitempty"`
	DeliveredAt lifecycle.Micros   `msg:"c,omitempty"`
	SeenAt      lifecycle.Micros   `msg:"d,omitempty"`
	LastAt      lifecycle.Micros   `msg:"e,omitempty"`
	FirstBeat   lifecycle.Micros   `msg:"f,omitempty"`
	LastBeat    lifecycle.Micros   `msg:"g,omitempty"`
	Beats       []lifecycle.Micros `msg:"s,omitempty"`
	NakAt       lifecycle.Micros   `msg:"h,omitempty"`
	LastNakAt   lifecycle.Micros   `msg:"i,omitempty"`
	NakDelay    int64              `msg:"j,omitempty"`
	TermAt      lifecycle.Micros   `msg:"k,omitempty"`
	TermSaidAt  lifecycle.Micros   `msg:"u,omitempty"`
	TermReason  string             `msg:"l,omitempty"`
	AckAt       lifecycle.Micros   `msg:"m,omitempty"`
	LastAckAt   lifecycle.Micros   `msg:"n,omitempty"`
	ConfirmedAt lifecycle.Micros   `msg:"o,omitempty"`
	Expired     *lifecycle.Expiry  `msg:"p,omitempty"`
	Dead        *lifecycle.Expiry  `msg:"q,omitempty"`
	BeatsApart  time.Duration      `msg:"t,omitempty"`
}

type watcherRow struct {
	Consumer string           `msg:"a,omitempty"`
	N        int              `msg:"b,omitempty"`
	AckAt    lifecycle.Micros `msg:"c,omitempty"`
	LastAt   lifecycle.Micros `msg:"d,omitempty"`
}

type claimRow struct {
	At       lifecycle.Micros `msg:"a,omitempty"`
	Kind     lifecycle.Kind   `msg:"b,omitempty"`
	Consumer string           `msg:"c,omitempty"`
	Worker   string           `msg:"d,omitempty"`
	N        int              `msg:"e,omitempty"`
	CSeq     uint64           `msg:"f,omitempty"`
	SaidAt   lifecycle.Micros `msg:"g,omitempty"`
	Delay    time.Duration    `msg:"h,omitempty"`
	Reason   string           `msg:"i,omitempty"`
	Taken    bool             `msg:"j,omitempty"`

	Own         bool `msg:"l,omitempty"`
	Former      bool `msg:"m,omitempty"`
	Undelivered bool `msg:"k,omitempty"`
}

type expiryRow struct {
	Basis    lifecycle.Micros `msg:"a,omitempty"`
	Deadline lifecycle.Micros `msg:"b,omitempty"`
	Reason   string           `msg:"c,omitempty"`
	Judged   lifecycle.Micros `msg:"d,omitempty"`
	AtLatest bool             `msg:"e,omitempty"`
}

type deliveryFactsRow struct {
	CSeq  uint64           `msg:"a,omitempty"`
	At    lifecycle.Micros `msg:"b,omitempty"`
	Bound lifecycle.Micros `msg:"c,omitempty"`

	LastAt    lifecycle.Micros `msg:"d,omitempty"`
	LastBound lifecycle.Micros `msg:"e,omitempty"`
}

type deadFactsRow struct {
	At         lifecycle.Micros `msg:"a,omitempty"`
	Entry      string           `msg:"b,omitempty"`
	Category   string           `msg:"c,omitempty"`
	Path       string           `msg:"d,omitempty"`
	Reason     string           `msg:"e,omitempty"`
	Detail     string           `msg:"f,omitempty"`
	Deliveries int              `msg:"g,omitempty"`
	FailedAt   lifecycle.Micros `msg:"h,omitempty"`
	Subject    string           `msg:"i,omitempty"`
	TaskID     string           `msg:"j,omitempty"`
	Type       string           `msg:"k,omitempty"`
}

type classFactsRow struct {
	Revision uint64               `msg:"a,omitempty"`
	Category string               `msg:"b,omitempty"`
	Detail   string               `msg:"c,omitempty"`
	Kind     string               `msg:"d,omitempty"`
	Rule     string               `msg:"e,omitempty"`
	Evidence []lifecycle.Evidence `msg:"f,omitempty"`
	By       string               `msg:"g,omitempty"`
	At       lifecycle.Micros     `msg:"h,omitempty"`
}

type triageFactsRow struct {
	Revision uint64            `msg:"a,omitempty"`
	Outcome  lifecycle.Outcome `msg:"b,omitempty"`
	Action   string            `msg:"c,omitempty"`
	Actor    string            `msg:"d,omitempty"`
	Reason   string            `msg:"e,omitempty"`
	At       lifecycle.Micros  `msg:"f,omitempty"`
	Until    lifecycle.Micros  `msg:"g,omitempty"`
	ActionID string            `msg:"h,omitempty"`
	Via      string            `msg:"i,omitempty"`
	N        int               `msg:"j,omitempty"`
	Consumer string            `msg:"k,omitempty"`
}

type taskFactsRow struct {
	ID             string                             `msg:"-"`
	Head           lifecycle.Head                     `msg:"a"`
	Messages       int                                `msg:"b,omitempty"`
	Publishes      map[string]*lifecycle.PublishFacts `msg:"c,omitempty"`
	Unnamed        *lifecycle.PublishFacts            `msg:"z,omitempty"`
	Reports        []lifecycle.ReportFacts            `msg:"d,omitempty"`
	Copies         []lifecycle.DeliveryCopy           `msg:"e,omitempty"`
	Completed      []lifecycle.Completed              `msg:"f,omitempty"`
	Erased         []lifecycle.Erased                 `msg:"w,omitempty"`
	Steps          []lifecycle.StepFacts              `msg:"g,omitempty"`
	Intents        []lifecycle.IntentFacts            `msg:"p,omitempty"`
	IntentsCut     bool                               `msg:"q,omitempty"`
	Checkpoints    []lifecycle.CheckpointFacts        `msg:"r,omitempty"`
	Effects        []lifecycle.LoggedEffect           `msg:"s,omitempty"`
	Shared         []lifecycle.SharedKey              `msg:"t,omitempty"`
	Fallen         []lifecycle.MessageKey             `msg:"n,omitempty"`
	IngressAt      lifecycle.Micros                   `msg:"u,omitempty"`
	Completion     *lifecycle.CompletionFacts         `msg:"h,omitempty"`
	NotStoredAt    lifecycle.Micros                   `msg:"i,omitempty"`
	NotStoredDoubt string                             `msg:"o,omitempty"`
	UnboundSince   lifecycle.Micros                   `msg:"x,omitempty"`
	FirstAt        lifecycle.Micros                   `msg:"j,omitempty"`
	LastAt         lifecycle.Micros                   `msg:"k,omitempty"`
	LastKind       lifecycle.Kind                     `msg:"v,omitempty"`
	Agent          string                             `msg:"l,omitempty"`
	Addressed      bool                               `msg:"y,omitempty"`
	Type           string                             `msg:"m,omitempty"`
}

type headRow struct {
	Generation int                  `msg:"a,omitempty"`
	Key        lifecycle.MessageKey `msg:"b"`
}

type messageKeyRow struct {
	Stream lifecycle.StreamID
	Seq    uint64
}

type streamIDRow struct {
	Account string
	Domain  string
	Name    string
	Epoch   lifecycle.Micros
}

type publishFactsRow struct {
	Recorded []lifecycle.PublishAttempt `msg:"a,omitempty"`
	Heard    []lifecycle.PublishAttempt `msg:"f,omitempty"`
	Stored   []lifecycle.MessageKey     `msg:"b,omitempty"`
	StoredAt lifecycle.Micros           `msg:"c,omitempty"`
	Until    lifecycle.Micros           `msg:"d,omitempty"`
	Owner    string                     `msg:"e,omitempty"`
}

type publishAttemptRow struct {
	At lifecycle.Micros
	ID lifecycle.EventID
}

type reportFactsRow struct {
	MsgID          string           `msg:"a,omitempty"`
	Attempt        int              `msg:"b,omitempty"`
	Agent          string           `msg:"c,omitempty"`
	By             string           `msg:"r,omitempty"`
	ClaimedAt      lifecycle.Micros `msg:"d,omitempty"`
	AcceptedAt     lifecycle.Micros `msg:"e,omitempty"`
	BeatAt         lifecycle.Micros `msg:"f,omitempty"`
	CompletedAt    lifecycle.Micros `msg:"g,omitempty"`
	FailedAt       lifecycle.Micros `msg:"h,omitempty"`
	FailedWhy      string           `msg:"i,omitempty"`
	SentAt         lifecycle.Micros `msg:"j,omitempty"`
	DuplicateAt    lifecycle.Micros `msg:"k,omitempty"`
	ReceiptAt      lifecycle.Micros `msg:"l,omitempty"`
	CheckpointAt   lifecycle.Micros `msg:"m,omitempty"`
	Owner          string           `msg:"n,omitempty"`
	LeaseVersion   uint64           `msg:"o,omitempty"`
	LeaseExpiresAt lifecycle.Micros `msg:"p,omitempty"`
	RecordsWait    time.Duration    `msg:"q,omitempty"`
	HeardAt        lifecycle.Micros `msg:"s,omitempty"`

	LastClaimedAt   lifecycle.Micros `msg:"w,omitempty"`
	LastAcceptedAt  lifecycle.Micros `msg:"t,omitempty"`
	LastCompletedAt lifecycle.Micros `msg:"u,omitempty"`
	LastHeardAt     lifecycle.Micros `msg:"v,omitempty"`

	InputTokens  int64 `msg:"y,omitempty"`
	OutputTokens int64 `msg:"z,omitempty"`
	Cost         int64 `msg:"aa,omitempty"`

	PublishDuplicates []lifecycle.Micros `msg:"x,omitempty"`
}

type deliveryCopyRow struct {
	Key      lifecycle.MessageKey   `msg:"a"`
	IdemKey  string                 `msg:"b,omitempty"`
	Hash     string                 `msg:"c,omitempty"`
	MsgID    string                 `msg:"d,omitempty"`
	At       lifecycle.Micros       `msg:"e,omitempty"`
	AckedAt  lifecycle.Micros       `msg:"f,omitempty"`
	Attempt  int                    `msg:"g,omitempty"`
	After    lifecycle.Micros       `msg:"h,omitempty"`
	Surely   lifecycle.Micros       `msg:"x,omitempty"`
	By       lifecycle.Micros       `msg:"i,omitempty"`
	Silent   bool                   `msg:"j,omitempty"`
	Worked   bool                   `msg:"k,omitempty"`
	Beside   bool                   `msg:"w,omitempty"`
	Agent    string                 `msg:"l,omitempty"`
	Attempts int                    `msg:"m,omitempty"`
	To       lifecycle.Micros       `msg:"n,omitempty"`
	Lost     bool                   `msg:"s,omitempty"`
	Gone     lifecycle.Micros       `msg:"o,omitempty"`
	InHand   bool                   `msg:"p,omitempty"`
	Never    bool                   `msg:"t,omitempty"`
	Runs     []lifecycle.AttemptRun `msg:"u,omitempty"`
	Workers  []string               `msg:"r,omitempty"`

	Publisher string `msg:"v,omitempty"`
}

type attemptRunRow struct {
	N     int              `msg:"a"`
	By    lifecycle.Micros `msg:"b"`
	Exact bool             `msg:"c,omitempty"`
	End   lifecycle.Micros `msg:"d,omitempty"`
}

type sharedKeyRow struct {
	Key    string           `msg:"a"`
	Task   string           `msg:"b"`
	At     lifecycle.Micros `msg:"c,omitempty"`
	DoneAt lifecycle.Micros `msg:"d,omitempty"`
	Proved bool             `msg:"e,omitempty"`
}

type completedRow struct {
	Stated lifecycle.Micros `msg:"a,omitempty"`
	Key    string           `msg:"b,omitempty"`
	Seq    uint64           `msg:"c,omitempty"`
	At     lifecycle.Micros `msg:"d,omitempty"`
	Again  lifecycle.Micros `msg:"e,omitempty"`
}

type erasedRow struct {
	At   lifecycle.Micros `msg:"a,omitempty"`
	Slot string           `msg:"b,omitempty"`
}

type stepFactsRow struct {
	Tool  string           `msg:"a,omitempty"`
	Input string           `msg:"b,omitempty"`
	Agent string           `msg:"f,omitempty"`
	Steps []string         `msg:"c,omitempty"`
	At    lifecycle.Micros `msg:"d,omitempty"`
	Last  lifecycle.Micros `msg:"e,omitempty"`
}

type completionFactsRow struct {
	At          lifecycle.Micros `msg:"a,omitempty"`
	Agent       string           `msg:"b,omitempty"`
	Key         string           `msg:"c,omitempty"`
	PayloadHash string           `msg:"d,omitempty"`
	ExpiresAt   lifecycle.Micros `msg:"e,omitempty"`
	Source      string           `msg:"f,omitempty"`
}

type modelTotalRow struct {
	Attempts     int   `msg:"a,omitempty"`
	InputTokens  int64 `msg:"b,omitempty"`
	OutputTokens int64 `msg:"c,omitempty"`
	Cost         int64 `msg:"d,omitempty"`
}

type taskSummaryRow struct {
	TaskID      string                  `msg:"-"`
	Listed      bool                    `msg:"a,omitempty"`
	State       lifecycle.State         `msg:"b,omitempty"`
	Rule        string                  `msg:"c,omitempty"`
	Agent       string                  `msg:"d,omitempty"`
	Type        string                  `msg:"e,omitempty"`
	Title       string                  `msg:"f,omitempty"`
	Message     lifecycle.MessageKey    `msg:"-"`
	Consumer    string                  `msg:"g,omitempty"`
	Generation  int                     `msg:"h,omitempty"`
	Attempt     int                     `msg:"i,omitempty"`
	Messages    int                     `msg:"j,omitempty"`
	PublishedAt lifecycle.Micros        `msg:"k,omitempty"`
	LastEventAt lifecycle.Micros        `msg:"l,omitempty"`
	LastEvent   lifecycle.Kind          `msg:"x,omitempty"`
	StateSince  lifecycle.Micros        `msg:"m,omitempty"`
	EndedAt     lifecycle.Micros        `msg:"n,omitempty"`
	Waiting     time.Duration           `msg:"o,omitempty"`
	Running     time.Duration           `msg:"p,omitempty"`
	HeldSince   lifecycle.Micros        `msg:"w,omitempty"`
	Duplicates  int                     `msg:"q,omitempty"`
	Category    string                  `msg:"r,omitempty"`
	Reason      string                  `msg:"s,omitempty"`
	Used        lifecycle.ModelTotal    `msg:"y,omitempty"`
	Outcome     lifecycle.Outcome       `msg:"t,omitempty"`
	Died        lifecycle.State         `msg:"u,omitempty"`
	Anomalies   []lifecycle.AnomalyCode `msg:"v,omitempty"`
}

type entryRow struct {
	ID                string               `msg:"-"`
	Key               lifecycle.MessageKey `msg:"B"`
	Revision          uint64               `msg:"-"`
	TaskID            string               `msg:"a,omitempty"`
	MessageID         string               `msg:"b,omitempty"`
	DLQStream         string               `msg:"c,omitempty"`
	DLQSeq            uint64               `msg:"d,omitempty"`
	Subject           string               `msg:"e,omitempty"`
	Agent             string               `msg:"f,omitempty"`
	Type              string               `msg:"g,omitempty"`
	Title             string               `msg:"h,omitempty"`
	Path              dlqtriage.Path       `msg:"i,omitempty"`
	dlqtriage.Class   `msg:"j"`
	Classification    dlqtriage.Classification `msg:"k"`
	Reason            string                   `msg:"l,omitempty"`
	ReasonFingerprint string                   `msg:"m,omitempty"`
	Deliveries        int                      `msg:"n,omitempty"`
	Generation        int                      `msg:"o,omitempty"`
	FailedAt          lifecycle.Micros         `msg:"p,omitempty"`
	Status            dlqtriage.Status         `msg:"q,omitempty"`
	DeferredUntil     lifecycle.Micros         `msg:"r,omitempty"`
	Action            string                   `msg:"s,omitempty"`
	ActionKind        string                   `msg:"t,omitempty"`
	Actor             string                   `msg:"u,omitempty"`
	Via               string                   `msg:"v,omitempty"`
	DecidedAt         lifecycle.Micros         `msg:"w,omitempty"`
	Outcome           dlqtriage.Outcome        `msg:"x,omitempty"`
	ResolvedAt        lifecycle.Micros         `msg:"y,omitempty"`
	Next              dlqtriage.Next           `msg:"z"`
	RetryOf           string                   `msg:"A,omitempty"`
}

type classRow struct {
	Category dlqtriage.Category `msg:"a,omitempty"`
	Detail   string             `msg:"b,omitempty"`
	Kind     dlqtriage.Kind     `msg:"c,omitempty"`
}

type entryClassificationRow struct {
	Rule     string               `msg:"a,omitempty"`
	Evidence []lifecycle.Evidence `msg:"b,omitempty"`
	By       string               `msg:"c,omitempty"`
	At       lifecycle.Micros     `msg:"d,omitempty"`
}

type nextRow struct {
	TaskID    string               `msg:"a,omitempty"`
	MessageID string               `msg:"b,omitempty"`
	Key       lifecycle.MessageKey `msg:"c"`
}

type followUpRow struct {
	Of          string            `msg:"-"`
	Message     dlqtriage.Next    `msg:"a"`
	Generation  int               `msg:"b,omitempty"`
	Outcome     dlqtriage.Outcome `msg:"c,omitempty"`
	CompletedAt lifecycle.Micros  `msg:"d,omitempty"`
}

type intentFactsRow struct {
	MsgID    string               `msg:"a,omitempty"`
	Agent    string               `msg:"k,omitempty"`
	Step     string               `msg:"b,omitempty"`
	Outbound bool                 `msg:"c,omitempty"`
	Tool     string               `msg:"d,omitempty"`
	Class    string               `msg:"e,omitempty"`
	Key      string               `msg:"f,omitempty"`
	Intent   lifecycle.LastReport `msg:"g"`
	Receipt  lifecycle.LastReport `msg:"h"`

	Intents  []lifecycle.LastReport `msg:"i,omitempty"`
	Receipts []lifecycle.LastReport `msg:"j,omitempty"`
}

type lastReportRow struct {
	N  int               `msg:"a,omitempty"`
	At lifecycle.Micros  `msg:"b,omitempty"`
	ID lifecycle.EventID `msg:"c,omitempty"`
}

type checkpointFactsRow struct {
	MsgID string               `msg:"a,omitempty"`
	Agent string               `msg:"c,omitempty"`
	Last  lifecycle.LastReport `msg:"b"`
}

type loggedEffectRow struct {
	Key string            `msg:"a,omitempty"`
	At  lifecycle.Micros  `msg:"b,omitempty"`
	ID  lifecycle.EventID `msg:"c,omitempty"`
}
