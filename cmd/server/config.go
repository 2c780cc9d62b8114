package main

import (
	"time"

	"fleetglass/duplicates"
)

// Config is every setting of the program, typed and complete. A field's tags are its name, default and help: flags, the
// environment (FLEETGLASS_ and the name in capitals), the configuration file and the table in README.md all read them.
type Config struct {
	File string `name:"config" type:"path" placeholder:"FILE" help:"YAML file with settings by their names here." group:"start"`

	Listen      string   `default:"127.0.0.1:8080" placeholder:"ADDR" help:"Address of the pages and the API." group:"http"`
	BaseURL     string   `name:"base-url" placeholder:"URL" help:"Address under which people reach the pages, for links and for the check of origins behind a proxy." group:"http"`
	MaxBody     ByteSize `default:"4MB" placeholder:"SIZE" help:"Largest request body." group:"http"`
	ReadOnly    bool     `help:"Refuse every request that would change something." group:"http"`
	Environment string   `placeholder:"NAME" help:"Name shown as a badge on every page, such as production." group:"http"`

	Token      Secret `placeholder:"TOKEN" help:"Bearer token with scope admin; set it in the environment or the file, not as a flag." group:"access"`
	TokensFile string `name:"auth-tokens-file" type:"path" placeholder:"FILE" help:"YAML file with hashed bearer tokens and their scopes; fleetglass token writes entries." group:"access"`

	SessionLife      Duration `name:"session-life" default:"12h" placeholder:"TIME" help:"How long people stay signed in with a browser." group:"access"`
	OIDCIssuer       string   `name:"oidc-issuer" placeholder:"URL" help:"OpenID Connect provider through which people sign in; needs --base-url, whose /login/callback the provider must know." group:"access"`
	OIDCClientID     string   `name:"oidc-client-id" placeholder:"ID" help:"Our client at that provider." group:"access"`
	OIDCClientSecret Secret   `name:"oidc-client-secret" placeholder:"TEXT" help:"Secret of that client; set it in the environment or the file, not as a flag." group:"access"`
	OIDCRolesClaim   string   `name:"oidc-roles-claim" default:"roles" placeholder:"NAME" help:"Claim of the identity token with a person's roles or groups." group:"access"`
	OIDCRoles        []string `name:"oidc-roles" default:"viewer=viewer,triager=triager,admin=admin" placeholder:"VALUE=ROLE,…" help:"What values of that claim mean: viewer, triager or admin." group:"access"`

	DataDir     string   `default:"./fleetglass-data" type:"path" placeholder:"DIR" help:"Directory of the embedded broker and of SQLite." group:"store"`
	DatabaseURL URL      `name:"database-url" placeholder:"URL" help:"Postgres, such as postgres://user:password@host/name; without it SQLite under the data directory." group:"store"`
	Retention   Duration `default:"30d" placeholder:"TIME" help:"How long finished tasks and their events are kept." group:"store"`

	NATSListen   string   `name:"nats-listen" default:"127.0.0.1:4222" placeholder:"ADDR" help:"Address of the embedded broker; when it is taken the next free port is used." group:"broker"`
	NATSURL      []URL    `name:"nats-url" placeholder:"URL" help:"Broker to observe, instead of the embedded one; repeat it or separate with commas for a cluster." group:"broker"`
	NATSPassword Secret   `name:"nats-password" placeholder:"TEXT" help:"Password of the broker; the embedded one needs it to listen beyond loopback (user fleet)." group:"broker"`
	NATSUser     string   `name:"nats-user" placeholder:"NAME" help:"User of the broker, with --nats-password." group:"broker"`
	NATSCreds    string   `name:"nats-creds" type:"path" placeholder:"FILE" help:"Credentials file for the broker." group:"broker"`
	NATSCA       string   `name:"nats-ca" type:"path" placeholder:"FILE" help:"Certificate authorities of the broker." group:"broker"`
	NATSCert     string   `name:"nats-cert" type:"path" placeholder:"FILE" help:"Our certificate for the broker." group:"broker"`
	NATSKey      string   `name:"nats-key" type:"path" placeholder:"FILE" help:"Key of that certificate." group:"broker"`
	NATSDomain   string   `name:"nats-domain" placeholder:"NAME" help:"JetStream domain of the fleet's streams." group:"broker"`
	Prefix       string   `default:"genbrain" placeholder:"NAME" help:"First token of the fleet's subjects." group:"broker"`
	Poll         Duration `name:"poll-interval" default:"1s" placeholder:"TIME" help:"How often the broker's own state is compared with what was seen." group:"broker"`
	Nice         int      `default:"10" placeholder:"N" help:"How far to yield the processor to other programs, 0 to 19, while the broker is another process." group:"broker"`
	HeadersOnly  bool     `help:"Let the broker republish task headers without bodies, for privacy: bodies are then never shown and nothing can be replayed." group:"broker"`

	FirestoreProject  string `name:"firestore-project" placeholder:"ID" help:"Firestore project with the fleet's idempotency records and side-effect logs; read with Google's application default credentials." group:"broker"`
	FirestoreDatabase string `name:"firestore-database" default:"(default)" placeholder:"NAME" help:"Database of that project." group:"broker"`
	FirestoreEmulator string `name:"firestore-emulator" also:"FIRESTORE_EMULATOR_HOST" placeholder:"ADDR" help:"Read an emulator instead, without credentials; FIRESTORE_EMULATOR_HOST says the same. Its project is fleetglass unless named." group:"broker"`

	Demo     bool    `help:"Run a demonstration fleet of seven agents on the embedded broker." group:"demo"`
	DemoSeed uint64  `default:"1" placeholder:"N" help:"Seed of the demonstration: the same seed tells the same story." group:"demo"`
	DemoRate float64 `default:"1.5" placeholder:"N" help:"Tasks a second of the demonstration." group:"demo"`

	DuplicateCostLow  float64 `name:"duplicate-cost-low" default:"0.30" placeholder:"USD" help:"What a duplicate of a cheap task would have cost, for the savings on the page of duplicates." group:"ledger"`
	DuplicateCostHigh float64 `name:"duplicate-cost-high" default:"3.50" placeholder:"USD" help:"What a duplicate of an expensive task would have cost." group:"ledger"`
	DuplicateMinutes  float64 `name:"duplicate-minutes" default:"14" placeholder:"N" help:"Minutes that somebody would have spent on cleaning up after a duplicate." group:"ledger"`
	RecordReadPrice   float64 `name:"record-read-price" default:"0.03" placeholder:"USD" help:"What 100,000 reads of idempotency records in Firestore cost; a bucket of the broker costs nothing." group:"ledger"`
	RecordWritePrice  float64 `name:"record-write-price" default:"0.09" placeholder:"USD" help:"What 100,000 writes of them cost." group:"ledger"`

	ReconcileEvery Duration `name:"reconcile-every" default:"168h" placeholder:"TIME" help:"How often what was published is compared with what became of it, beside every restart; 0 for never." group:"ledger"`
	ReconcileGrace Duration `name:"reconcile-grace" default:"1m" placeholder:"TIME" help:"How far capture may lag behind: what is younger counts in the next report." group:"ledger"`

	TriagePolicy string `name:"triage-policy" type:"path" placeholder:"FILE" help:"YAML file over the built-in triage policy: rules of classification, agents, models, bounds. Changes count within a second." group:"triage"`

	LogLevel  string `default:"info" placeholder:"LEVEL" help:"Least level that is logged: debug, info, warn or error." group:"log"`
	LogFormat string `default:"text" placeholder:"FORM" help:"Form of the log: text or json." group:"log"`
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
