package main

import (
	"time"

	"fleetglass/duplicates"
	"fleetglass/internal/telemetry"
	"fleetglass/views"
)

// Config is every setting of the program, typed and complete. A field's tags are its name, default and help: flags, the
// environment (FLEETGLASS_ and the name in capitals), the configuration file and the table in README.md all read them.
type Config struct {
	File string `name:"config" type:"path" placeholder:"FILE" help:"YAML file with settings. They have the names of the flags." group:"start"`

	Listen      string   `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address at which the pages and the API are served." group:"http"`
	BaseURL     string   `name:"base-url" placeholder:"URL" help:"Address at which people reach the pages through a proxy, used in links and to check where a form comes from." group:"http"`
	MaxBody     ByteSize `default:"4MB" placeholder:"SIZE" help:"Largest request body." group:"http"`
	TLSCert     string   `name:"tls-cert" type:"path" placeholder:"FILE" help:"Certificate with which pages and API are served by HTTPS. It needs --tls-key. A new file is used within seconds." group:"http"`
	TLSKey      string   `name:"tls-key" type:"path" placeholder:"FILE" help:"Key of that certificate." group:"http"`
	ReadOnly    bool     `help:"Refuse every request that would change something, decide nothing, and send no retries." group:"http"`
	Environment string   `placeholder:"NAME" help:"Name of this installation, such as production; every page shows it." group:"http"`

	Token      Secret `placeholder:"TOKEN" help:"Bearer token with scope admin. Set it in the environment or in the settings file: others can read flags." group:"access"`
	TokensFile string `name:"auth-tokens-file" type:"path" placeholder:"FILE" help:"YAML file with hashed bearer tokens and their scopes. fleetglass token prints entries for it." group:"access"`

	RequestsPerSecond float64  `name:"requests-per-second" default:"50" placeholder:"N" help:"Requests a second that each token or person may send. Four seconds' worth may come at once; 0 for no limit." group:"access"`
	MaxStreams        int      `name:"max-streams" default:"512" placeholder:"N" help:"Live streams of pages and API that may be open at once. At most a quarter of the files that the process may open." group:"access"`
	MaxStreamsEach    int      `name:"max-streams-each" default:"64" placeholder:"N" help:"Live streams that each token or person may have open." group:"access"`
	SessionLife       Duration `name:"session-life" default:"12h" placeholder:"TIME" help:"How long people stay signed in with a browser." group:"access"`
	OIDCIssuer        string   `name:"oidc-issuer" placeholder:"URL" help:"OpenID Connect provider through which people sign in. It needs --base-url, and must know /login/callback under that address." group:"access"`
	OIDCClientID      string   `name:"oidc-client-id" placeholder:"ID" help:"Id of Fleetglass at that provider." group:"access"`
	OIDCClientSecret  Secret   `name:"oidc-client-secret" placeholder:"TEXT" help:"Secret that goes with that id. Set it in the environment or in the settings file: others can read flags." group:"access"`
	OIDCRolesClaim    string   `name:"oidc-roles-claim" default:"roles" placeholder:"NAME" help:"Claim of the identity token with a person's roles or groups." group:"access"`
	OIDCRoles         []string `name:"oidc-roles" default:"viewer=viewer,triager=triager,admin=admin" placeholder:"VALUE=ROLE,…" help:"Which role each value of that claim gives: viewer, triager or admin." group:"access"`

	Masking      string `default:"on" placeholder:"on|off" help:"Hide values of fields such as password, and texts that have the form of a token, in everything that is shown of messages. What is stored stays whole, so that retries send the real body." group:"access"`
	MaskingRules string `name:"masking-rules" type:"path" placeholder:"FILE" help:"YAML file with more to hide: fields, paths in the JSON body, patterns. A change takes effect within a second." group:"access"`

	MaskingReveal string `name:"masking-reveal" placeholder:"ROLE" help:"Least role that may see the payload of one message unmasked, for a reason that the audit keeps: viewer, triager or admin. Without it nobody may. It needs authentication." group:"access"`

	DataDir     string   `default:"./fleetglass-data" type:"path" placeholder:"DIR" help:"Directory for the data of the embedded broker and of SQLite." group:"store"`
	DatabaseURL URL      `name:"database-url" placeholder:"URL" help:"Postgres database, such as postgres://user:password@host/name. Without it SQLite is used, in the data directory." group:"store"`
	Retention   Duration `default:"30d" placeholder:"TIME" help:"How long finished tasks and their events are kept." group:"store"`

	StoreQuota ByteSize `name:"store-quota" default:"0" placeholder:"SIZE" help:"How much the database may hold, such as 20GB; 0 for no bound. Where it is reached nothing more is taken in, and every page says so, until there is room again." group:"store"`

	NATSListen      string   `name:"nats-listen" default:"127.0.0.1:4222" placeholder:"ADDR" help:"Address of the embedded broker. If the port is taken, the next free one is used." group:"broker"`
	NATSURL         []URL    `name:"nats-url" placeholder:"URL" help:"Broker to observe instead of the embedded one. For a cluster name several, separated by commas." group:"broker"`
	NATSPassword    Secret   `name:"nats-password" placeholder:"TEXT" help:"Password for the broker. The embedded broker needs one to listen beyond loopback; its user is fleet." group:"broker"`
	NATSUser        string   `name:"nats-user" placeholder:"NAME" help:"User for the broker, with --nats-password." group:"broker"`
	NATSCreds       string   `name:"nats-creds" type:"path" placeholder:"FILE" help:"Credentials file for the broker." group:"broker"`
	NATSCA          string   `name:"nats-ca" type:"path" placeholder:"FILE" help:"File with the certificate authorities that the broker's certificate is checked against." group:"broker"`
	NATSCert        string   `name:"nats-cert" type:"path" placeholder:"FILE" help:"File with the certificate that Fleetglass shows to the broker." group:"broker"`
	NATSKey         string   `name:"nats-key" type:"path" placeholder:"FILE" help:"File with the key of that certificate." group:"broker"`
	NATSDomain      string   `name:"nats-domain" placeholder:"NAME" help:"JetStream domain of the fleet's streams." group:"broker"`
	Prefix          string   `default:"genbrain" placeholder:"NAME" help:"First token of the fleet's subjects." group:"broker"`
	Poll            Duration `name:"poll-interval" default:"1s" placeholder:"TIME" help:"How often the state of the broker is fetched and compared with what was observed." group:"broker"`
	WorkerConsumers string   `name:"worker-consumers" default:"*-task-worker" placeholder:"PATTERNS" help:"Names of the workers' consumers, as patterns separated by commas. Where a stream keeps messages after they are acknowledged, only these judge a task; other consumers watch." group:"broker"`
	WorkerHeartbeat Duration `name:"worker-heartbeat" default:"2m" placeholder:"TIME" help:"How often workers say that they are still working. The doctor compares it with the waits of their consumers." group:"broker"`
	Nice            int      `default:"10" placeholder:"N" help:"How much Fleetglass yields the processor to other programs, from 0 to 19. It does not yield while it embeds the broker." group:"broker"`
	CaptureShards   int      `name:"capture-shards" default:"1" placeholder:"N" help:"Into how many shards the lines of each capture stream are cut, so that replicas read different ones: 1, 2, 4, 8, 16, 32 or 64. All replicas and fleetglass provision need the same." group:"broker"`
	HeadersOnly     bool     `help:"Capture only the headers of tasks, for privacy. Bodies are then never shown, and a message that has left its stream cannot be sent again." group:"broker"`

	FirestoreProject  string `name:"firestore-project" placeholder:"ID" help:"Firestore project that holds the fleet's idempotency records and side-effect logs. Google's application default credentials are used." group:"broker"`
	FirestoreDatabase string `name:"firestore-database" default:"(default)" placeholder:"NAME" help:"Database of that project." group:"broker"`
	FirestoreEmulator string `name:"firestore-emulator" also:"FIRESTORE_EMULATOR_HOST" placeholder:"ADDR" help:"Firestore emulator to read instead, without credentials. FIRESTORE_EMULATOR_HOST sets it too. The project is then fleetglass unless --firestore-project names one." group:"broker"`
	FailureLog        bool   `name:"failure-log" help:"Copy dead letters and their hourly counts into that Firestore: collections failure-log and dlq-metrics." group:"broker"`

	DLQMonitor      string   `name:"dlq-monitor" default:"auto" placeholder:"on|off" help:"Whether Fleetglass copies each dead message to the dead-letter queue, and then deletes it from TASKS: on, off (another monitor does), or auto, which is on with the embedded broker." group:"triage"`
	DLQOrphanAfter  Duration `name:"dlq-orphan-after" default:"5m" placeholder:"TIME" help:"How long a task must have been without a consumer before it counts as dead for the monitor: workers may start later. At most 20s in the demonstration." group:"triage"`
	AutoTriage      string   `name:"auto-triage" default:"auto" placeholder:"on|off" help:"Whether the plans that the policy allows are applied without anybody asking, within its budgets: on, off, or auto, which is on in the demonstration." group:"triage"`
	EscalateSubject string   `name:"escalate-subject" placeholder:"SUBJECT" help:"Subject of tasks that tell an agent, once, of each dead letter that auto-triage does not decide about, such as genbrain.agents.ceo.tasks.triage, which is the default of the demonstration; off for none." group:"triage"`
	EscalateWebhook URL      `name:"escalate-webhook" placeholder:"URL" help:"Where the same is posted as JSON." group:"triage"`
	EscalateSecret  Secret   `name:"escalate-secret" placeholder:"TEXT" help:"Signs what is posted, as Standard Webhooks has it." group:"triage"`

	DLQPerAgent []string `name:"dlq-per-agent" placeholder:"AGENT" help:"Agents with a dead-letter stream of their own, DLQ_<agent>, instead of one DLQ for all; repeat it or separate with commas. Name every agent: what dies of others has no stream then." group:"triage"`

	Demo     bool    `help:"Run a demonstration fleet of seven agents on the embedded broker." group:"demo"`
	DemoSeed uint64  `default:"1" placeholder:"N" help:"Seed of the demonstration. The same seed gives the same tasks." group:"demo"`
	DemoRate float64 `default:"1.5" placeholder:"N" help:"Tasks that the demonstration publishes in a second." group:"demo"`

	DuplicateCostLow  float64 `name:"duplicate-cost-low" default:"0.30" placeholder:"USD" help:"What a duplicate of a cheap task costs, in USD. The page of duplicates computes savings from it." group:"ledger"`
	DuplicateCostHigh float64 `name:"duplicate-cost-high" default:"3.50" placeholder:"USD" help:"What a duplicate of an expensive task costs, in USD." group:"ledger"`
	DuplicateMinutes  float64 `name:"duplicate-minutes" default:"14" placeholder:"N" help:"Minutes that a person spends on cleaning up after a duplicate." group:"ledger"`
	RecordReadPrice   float64 `name:"record-read-price" default:"0.03" placeholder:"USD" help:"Price of 100,000 reads from Firestore, in USD. Records in a bucket of the broker cost nothing." group:"ledger"`
	RecordWritePrice  float64 `name:"record-write-price" default:"0.09" placeholder:"USD" help:"Price of 100,000 writes to Firestore, in USD." group:"ledger"`

	ReconcileEvery Duration `name:"reconcile-every" default:"168h" placeholder:"TIME" help:"How often a reconciliation is made, besides the one after every start; 0 for never." group:"ledger"`
	ReconcileGrace Duration `name:"reconcile-grace" default:"1m" placeholder:"TIME" help:"How old a message must be to be in a reconciliation. Younger ones are in the next, because capture may lag behind." group:"ledger"`

	TriagePolicy string `name:"triage-policy" type:"path" placeholder:"FILE" help:"YAML file that adds to the built-in triage policy: classification rules, agents, models, bounds. A change takes effect within a second." group:"triage"`

	AlertRules string `name:"alert-rules" type:"path" placeholder:"FILE" help:"YAML file that changes the built-in alert rules: severities, how long something must last, thresholds, which are off. A change takes effect within a second." group:"alerts"`

	AlertmanagerURL []URL    `name:"alertmanager-url" placeholder:"URL" help:"Prometheus Alertmanager that is told of alerts, such as http://alertmanager:9093; repeat it or separate with commas." group:"alerts"`
	AlertWebhook    []URL    `name:"alert-webhook" placeholder:"URL" help:"Where alerts are posted as JSON, each once and in order; repeat it or separate with commas." group:"alerts"`
	AlertSecret     Secret   `name:"alert-secret" placeholder:"TEXT" help:"Signs what is posted there, as Standard Webhooks has it." group:"alerts"`
	WebhookAllow    []string `name:"webhook-allow" placeholder:"CIDR" help:"Private networks that webhooks may be posted to, such as 10.1.0.0/16; without it only public addresses are dialled." group:"alerts"`

	OTLP telemetry.OTLP `kong:"-"` // What is sent by OTLP, as the standard variables have it.

	TaskTraces      bool     `name:"task-traces" help:"Send each task that has ended as a trace by OTLP, which continues the traceparent of its message. It needs OTEL_EXPORTER_OTLP_ENDPOINT." group:"log"`
	TaskTracesAfter Duration `name:"task-traces-after" default:"15s" placeholder:"TIME" help:"How long after its end a task is sent. What becomes known later is not." group:"log"`

	AdminListen string `name:"admin-listen" placeholder:"ADDR" help:"Loopback address at which profiles of this process are served for go tool pprof, such as 127.0.0.1:6060." group:"log"`

	LogLevel  string `default:"info" placeholder:"LEVEL" help:"Lowest level that is logged: debug, info, warn or error." group:"log"`
	LogFormat string `default:"text" placeholder:"FORM" help:"Format of the log: text or json." group:"log"`

	// InForce is every setting above as the page of settings shows it; reading the settings fills it.
	InForce []views.SettingGroup `kong:"-"`
}

// Embedded reports whether the broker runs in this process.
func (c Config) Embedded() bool { return len(c.NATSURL) == 0 }

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
