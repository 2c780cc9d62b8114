package main

import (
	"time"

	"fleetglass/duplicates"
	"fleetglass/fleet"
	"fleetglass/internal/telemetry"
	"fleetglass/views"
)

// Config is every setting of the program, typed and complete. A field's tags are its name, default and help: flags, the
// environment (FLEETGLASS_ and the name in capitals), the configuration file and the table in README.md all read them.
type Config struct {
	File string `name:"config" type:"path" placeholder:"FILE" help:"YAML file with settings, each under the name of its flag." group:"start"`

	Listen      string   `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address and port that serve the pages and the API." group:"http"`
	BaseURL     string   `name:"base-url" placeholder:"URL" help:"Address at which people reach the pages when a proxy stands in front, such as https://fleetglass.example.org. Links use it, and forms sent from its pages are accepted." group:"http"`
	MaxBody     ByteSize `default:"4MB" placeholder:"SIZE" help:"Largest request body that is accepted." group:"http"`
	TLSCert     string   `name:"tls-cert" type:"path" placeholder:"FILE" help:"Certificate file for HTTPS; it needs --tls-key. Pages and API are then served by HTTPS only. A changed file is used within seconds." group:"http"`
	TLSKey      string   `name:"tls-key" type:"path" placeholder:"FILE" help:"File with the private key of that certificate." group:"http"`
	ReadOnly    bool     `help:"Refuse every request that would change something. Auto-triage then decides nothing, no retry is sent, and nothing is deleted from a Postgres that replicas may share." group:"http"`
	Environment string   `placeholder:"NAME" help:"Name of this installation, such as production. Every page shows it." group:"http"`

	Token      Secret `placeholder:"TOKEN" help:"Bearer token with scope admin. Set it in the environment or in the settings file: other users of the machine can read flags." group:"access"`
	TokensFile string `name:"auth-tokens-file" type:"path" placeholder:"FILE" help:"YAML file with hashed bearer tokens and their scopes. fleetglass token create makes its entries." group:"access"`

	RequestsPerSecond float64  `name:"requests-per-second" default:"50" placeholder:"N" help:"Requests per second that each token or person may send; 0 for no limit. Four seconds' worth may come at once." group:"access"`
	MaxStreams        int      `name:"max-streams" default:"512" placeholder:"N" help:"Live streams of pages and API that may be open at once; never more than a quarter of the files that the process may open." group:"access"`
	MaxStreamsEach    int      `name:"max-streams-each" default:"64" placeholder:"N" help:"Live streams that each token or person may have open at once." group:"access"`
	SessionLife       Duration `name:"session-life" default:"12h" placeholder:"TIME" help:"How long a person stays signed in with a browser." group:"access"`
	OIDCIssuer        string   `name:"oidc-issuer" placeholder:"URL" help:"Address of the OpenID Connect provider through which people sign in. It needs --base-url. Register that address with /login/callback behind it at the provider." group:"access"`
	OIDCClientID      string   `name:"oidc-client-id" placeholder:"ID" help:"Client id of Fleetglass at that provider." group:"access"`
	OIDCClientSecret  Secret   `name:"oidc-client-secret" placeholder:"TEXT" help:"Client secret of Fleetglass at that provider. Set it in the environment or in the settings file: other users of the machine can read flags." group:"access"`
	OIDCRolesClaim    string   `name:"oidc-roles-claim" default:"roles" placeholder:"NAME" help:"Claim of the identity token that lists a person's roles or groups." group:"access"`
	OIDCRoles         []string `name:"oidc-roles" default:"viewer=viewer,triager=triager,admin=admin" placeholder:"VALUE=ROLE" help:"Which value of that claim gives which role: viewer, triager or admin." group:"access"`

	Masking      string `default:"on" placeholder:"on|off" help:"Whether secrets are hidden wherever messages are shown: values of fields such as password, and texts that have the form of a token. The stored message stays whole, so that a retry sends the real body." group:"access"`
	MaskingRules string `name:"masking-rules" type:"path" placeholder:"FILE" help:"YAML file that names more to hide: fields, paths in the JSON body, patterns. A changed file takes effect within a second." group:"access"`

	MaskingReveal string `name:"masking-reveal" placeholder:"ROLE" help:"Least role that may see the payload of one message unmasked: viewer, triager or admin. The person gives a reason, and the audit keeps it. Without this setting nobody may. It needs authentication." group:"access"`

	DataDir     string   `default:"./fleetglass-data" type:"path" placeholder:"DIR" help:"Directory for the data of the embedded broker and of SQLite." group:"store"`
	DatabaseURL URL      `name:"database-url" placeholder:"URL" help:"Postgres database, such as postgres://user:password@host/name. Without it Fleetglass uses SQLite in the data directory." group:"store"`
	Retention   Duration `default:"30d" placeholder:"TIME" help:"How long finished tasks and their events are kept; at least 1h." group:"store"`

	StoreQuota ByteSize `name:"store-quota" default:"0" placeholder:"SIZE" help:"How large the database may become, such as 20GB; 0 for no limit. At the limit Fleetglass takes nothing more in, and every page says so, until there is room again." group:"store"`

	NATSURL         []URL    `name:"nats-url" placeholder:"URL" help:"Address of your own broker, such as nats://host:4222. Without it Fleetglass embeds one. For a cluster name several, separated by commas." group:"broker"`
	NATSCreds       string   `name:"nats-creds" type:"path" placeholder:"FILE" help:"Credentials file for the broker." group:"broker"`
	NATSUser        string   `name:"nats-user" placeholder:"NAME" help:"User for the broker, with --nats-password." group:"broker"`
	NATSPassword    Secret   `name:"nats-password" placeholder:"TEXT" help:"Password for the broker. The embedded broker needs one to listen beyond loopback; its user is fleet." group:"broker"`
	NATSCA          string   `name:"nats-ca" type:"path" placeholder:"FILE" help:"File with the certificate authorities that the broker's certificate is checked against." group:"broker"`
	NATSCert        string   `name:"nats-cert" type:"path" placeholder:"FILE" help:"File with the client certificate that Fleetglass shows to the broker; it needs --nats-key." group:"broker"`
	NATSKey         string   `name:"nats-key" type:"path" placeholder:"FILE" help:"File with the private key of that certificate." group:"broker"`
	NATSDomain      string   `name:"nats-domain" placeholder:"NAME" help:"JetStream domain of the fleet's streams." group:"broker"`
	NATSListen      string   `name:"nats-listen" default:"127.0.0.1:4222" placeholder:"ADDR" help:"Address and port of the embedded broker. If the port is taken, the next free one is used." group:"broker"`
	Prefix          string   `default:"genbrain" placeholder:"NAME" help:"First token of the fleet's subjects." group:"broker"`
	Poll            Duration `name:"poll-interval" default:"1s" placeholder:"TIME" help:"How often the state of the broker is fetched and compared with what was observed." group:"broker"`
	WorkerConsumers string   `name:"worker-consumers" default:"*-task-worker" placeholder:"PATTERNS" help:"Names of the workers' consumers, as patterns separated by commas. Where a stream keeps messages after they are acknowledged, only these consumers decide what became of a task; other consumers watch." group:"broker"`
	WorkerHeartbeat Duration `name:"worker-heartbeat" default:"2m" placeholder:"TIME" help:"How often a worker sends a heartbeat while it works. The doctor compares it with the consumers' waits for an acknowledgement." group:"broker"`
	Nice            int      `default:"10" placeholder:"N" help:"How far Fleetglass lowers its priority for the processor: 0 is not at all, 19 the most. While it embeds the broker it lowers nothing." group:"broker"`
	Reader          string   `placeholder:"NAME" help:"Name of a further Fleetglass that reads the same fleet into a store of its own, such as staging. Its durables carry this name, so that it takes nothing from the first. It needs --read-only, because only one Fleetglass may decide about a fleet." group:"broker"`
	CaptureShards   int      `name:"capture-shards" default:"1" placeholder:"N" help:"How many shards each capture stream is cut into, so that replicas read different ones: 1, 2, 4, 8, 16, 32 or 64. All replicas and fleetglass provision need the same number." group:"broker"`
	HeadersOnly     bool     `help:"Capture only the headers of tasks, for privacy. Bodies are then never shown, and a message that has left its stream cannot be sent again." group:"broker"`

	FirestoreProject  string `name:"firestore-project" placeholder:"ID" help:"Firestore project that holds the fleet's idempotency records and side-effect logs. Google's application default credentials are used." group:"firestore"`
	FirestoreDatabase string `name:"firestore-database" default:"(default)" placeholder:"NAME" help:"Database of that project." group:"firestore"`
	FirestoreEmulator string `name:"firestore-emulator" also:"FIRESTORE_EMULATOR_HOST" placeholder:"ADDR" help:"Firestore emulator to read instead, without credentials. FIRESTORE_EMULATOR_HOST sets it too. Without --firestore-project the project is then called fleetglass." group:"firestore"`
	FailureLog        bool   `name:"failure-log" help:"Copy dead letters, and how many there were each hour, into the collections failure-log and dlq-metrics of that Firestore." group:"firestore"`

	TriagePolicy string `name:"triage-policy" type:"path" placeholder:"FILE" help:"YAML file that adds to the built-in triage policy: classification rules, agents, models, bounds. A changed file takes effect within a second." group:"triage"`

	DLQMonitor      string   `name:"dlq-monitor" default:"auto" placeholder:"on|off|auto" help:"Who brings dead messages to the dead-letter queue. on: Fleetglass copies each one, then deletes it from TASKS. off: another monitor does. auto: on with the embedded broker, else off." group:"triage"`
	DLQOrphanAfter  Duration `name:"dlq-orphan-after" default:"5m" placeholder:"TIME" help:"How long a task must wait without a consumer before the monitor counts it as dead. Its worker may only start late. At most 20s in the demonstration." group:"triage"`
	AutoTriage      string   `name:"auto-triage" default:"auto" placeholder:"on|off|auto" help:"Whether Fleetglass itself applies the plans that the policy allows, within its budgets. on, off, or auto: on in the demonstration, else off." group:"triage"`
	EscalateSubject string   `name:"escalate-subject" placeholder:"SUBJECT" help:"Subject to which Fleetglass publishes one task for each dead letter that auto-triage does not decide about, so that an agent can decide; off for none. The demonstration uses genbrain.agents.ceo.tasks.triage." group:"triage"`
	EscalateWebhook URL      `name:"escalate-webhook" placeholder:"URL" help:"Address to which each dead letter that auto-triage does not decide about is posted as JSON." group:"triage"`
	EscalateSecret  Secret   `name:"escalate-secret" placeholder:"TEXT" help:"Secret that signs the posts to --escalate-webhook, by the rules of Standard Webhooks." group:"triage"`

	DLQPerAgent []string `name:"dlq-per-agent" placeholder:"AGENT" help:"Agents with a dead-letter stream of their own, DLQ_<agent>, instead of one DLQ for all; repeat it or separate with commas. Name every agent: the dead messages of others then have no stream." group:"triage"`

	Demo     bool    `help:"Run a demonstration fleet of seven agents on the embedded broker." group:"demo"`
	DemoSeed uint64  `default:"1" placeholder:"N" help:"Seed of the demonstration. The same seed gives the same tasks." group:"demo"`
	DemoRate float64 `default:"1.5" placeholder:"N" help:"Tasks per second that the demonstration publishes." group:"demo"`

	DuplicateCostLow  float64 `name:"duplicate-cost-low" default:"0.30" placeholder:"USD" help:"Cost of a duplicate of a cheap task, in USD. The page of duplicates computes savings from it." group:"ledger"`
	DuplicateCostHigh float64 `name:"duplicate-cost-high" default:"3.50" placeholder:"USD" help:"Cost of a duplicate of an expensive task, in USD." group:"ledger"`
	DuplicateMinutes  float64 `name:"duplicate-minutes" default:"14" placeholder:"N" help:"Minutes that a person spends on cleaning up after a duplicate." group:"ledger"`
	RecordReadPrice   float64 `name:"record-read-price" default:"0.03" placeholder:"USD" help:"Price of 100,000 reads from Firestore, in USD. Records in a bucket of the broker cost nothing." group:"ledger"`
	RecordWritePrice  float64 `name:"record-write-price" default:"0.09" placeholder:"USD" help:"Price of 100,000 writes to Firestore, in USD." group:"ledger"`

	ReconcileEvery Duration `name:"reconcile-every" default:"168h" placeholder:"TIME" help:"How often Fleetglass reconciles. It also does so after every start that finds tasks; with 0 only then." group:"ledger"`
	ReconcileGrace Duration `name:"reconcile-grace" default:"1m" placeholder:"TIME" help:"How old a message must be to count in a reconciliation. Younger ones count in the next, because capture may lag behind." group:"ledger"`

	AlertRules string `name:"alert-rules" type:"path" placeholder:"FILE" help:"YAML file that changes the built-in alert rules: their severities, how long something must last, their thresholds, which rules are off. A changed file takes effect within a second." group:"alerts"`

	AlertmanagerURL []URL    `name:"alertmanager-url" placeholder:"URL" help:"Prometheus Alertmanager that Fleetglass sends alerts to, such as http://alertmanager:9093; repeat it or separate with commas." group:"alerts"`
	AlertWebhook    []URL    `name:"alert-webhook" placeholder:"URL" help:"Address to which alerts are posted as JSON, each once and in order; repeat it or separate with commas." group:"alerts"`
	AlertSecret     Secret   `name:"alert-secret" placeholder:"TEXT" help:"Secret that signs the posts to --alert-webhook, by the rules of Standard Webhooks." group:"alerts"`
	WebhookAllow    []string `name:"webhook-allow" placeholder:"CIDR" help:"Private networks that webhooks may be posted to, such as 10.1.0.0/16; repeat it or separate with commas. Without it only public addresses are dialled." group:"alerts"`

	OTLP telemetry.OTLP `kong:"-"` // What is sent by OTLP, as the standard variables have it.

	TaskTraces      bool     `name:"task-traces" help:"Send each ended task as a trace by OTLP. The trace continues the traceparent of the task's message. It needs OTEL_EXPORTER_OTLP_ENDPOINT." group:"log"`
	TaskTracesAfter Duration `name:"task-traces-after" default:"15s" placeholder:"TIME" help:"How long after its end a task is sent as a trace; at most 1h. The trace lacks what becomes known later." group:"log"`

	AdminListen string `name:"admin-listen" placeholder:"ADDR" help:"Loopback address, such as 127.0.0.1:6060, that serves profiles of this process for go tool pprof." group:"log"`

	LogLevel  string `default:"info" placeholder:"LEVEL" help:"Lowest level that is logged: debug, info, warn or error." group:"log"`
	LogFormat string `default:"text" placeholder:"FORM" help:"Format of the log: text or json." group:"log"`

	// InForce is every setting above as the page of settings shows it; reading the settings fills it.
	InForce []views.SettingGroup `kong:"-"`
}

// Embedded reports whether the broker runs in this process.
func (c Config) Embedded() bool { return len(c.NATSURL) == 0 }

// durables begins the names of the durables of this Fleetglass.
func (c Config) durables() string { return fleet.DurablePrefix(c.Reader) }

// shownName is what every page says this installation is: a demonstration says so itself, unless it has a name.
func (c Config) shownName() string {
	if c.Environment == "" && c.Demo {
		return "demo"
	}
	return c.Environment
}

// Authenticated reports whether people and programs must say who they are.
func (c Config) Authenticated() bool { return c.hasTokens() || c.OIDCIssuer != "" }

func (c Config) hasTokens() bool { return c.Token != "" || c.TokensFile != "" }

// duplicateCost is what one duplicate costs.
func (c Config) duplicateCost() *duplicates.Cost {
	return &duplicates.Cost{LowUSD: c.DuplicateCostLow, HighUSD: c.DuplicateCostHigh, Minutes: c.DuplicateMinutes}
}

// recordPrices are what operations on Firestore cost.
func (c Config) recordPrices() *duplicates.RecordPrices {
	return &duplicates.RecordPrices{ReadsUSD: c.RecordReadPrice, WritesUSD: c.RecordWritePrice}
}

// shutdownTimeout is how long a graceful stop may take before connections are cut.
const shutdownTimeout = 10 * time.Second
