package archtest

// Module is the path of the module that [Table] speaks of.
const Module = "fleetglass"

// everything is the row of the program itself, the only place that knows all the others.
var everything = []string{
	"access", "alerts", "alerts/*", "api", "client", "collectors", "collectors/*", "decision", "dlqtriage", "dlqtriage/*", "duplicates", "fleet", "fleet/*", "internal/*", "lifecycle", "masking", "mcp", "store/sqlite",
	"store/postgres", "query", "reconcile", "restarts", "reveal", "static", "views", "views/*", "web",
}

// Table is the law: what each package may import. Packages that are not in it may not exist.
var Table = []Rule{
	{Package: "lifecycle", Tests: []string{"views"}}, // The pictures of all scenarios agree with their facts.
	{Package: "duplicates", Own: []string{"lifecycle"}},
	// What the streams and the records hold comes through its own ports.
	{Package: "reconcile", Own: []string{"lifecycle", "internal/health"}, Tests: []string{"fleet", "collectors", "collectors/*"}},

	// What was in hand when something went away.
	{Package: "restarts", Own: []string{"lifecycle"}},

	// The transaction for decisions, on which triage, alerts and the audit stand.
	{Package: "decision", Own: []string{"lifecycle"}},

	// Who is told of alerts.
	{Package: "alerts/delivery", Own: []string{"lifecycle", "alerts", "internal/health", "internal/webhook"}},

	// A store knows the types of every domain whose ports it serves, and no rule of any.
	{Package: "store/storetest", Own: []string{"access", "lifecycle", "alerts", "decision", "dlqtriage", "reconcile", "restarts", "duplicates", "store/internal/rowcodec"}, Others: []string{"github.com/google/go-cmp", "pgregory.net/rapid"}},
	{Package: "store/sqlite", Own: []string{"access", "lifecycle", "alerts", "decision", "dlqtriage", "reconcile", "restarts", "store/internal/*"}, Others: []string{"zombiezen.com/go/sqlite"}},
	{Package: "store/postgres", Own: []string{"access", "lifecycle", "alerts", "decision", "dlqtriage", "reconcile", "restarts", "store/internal/*"}, Others: []string{"github.com/jackc/pgx/v5"},
		Tests: []string{"duplicates"}},

	{Package: "fleet", Own: []string{"lifecycle", "internal/pull"}, Others: []string{"github.com/nats-io", "github.com/cloudevents/sdk-go/v2"},
		Tests: []string{"fleet/reservetest"}},
	{Package: "fleet/reservetest", Own: []string{"lifecycle", "fleet"}},
	// The kit on Firestore: who keeps records in the broker's bucket need not have it.
	{Package: "fleet/firestorekit", Own: []string{"lifecycle", "fleet"}, Others: []string{"cloud.google.com/go/firestore", "google.golang.org/grpc"},
		Tests: []string{"fleet/reservetest", "internal/firestoretest"}},
	{Package: "fleet/demo", Own: []string{"lifecycle", "fleet"}, Others: []string{"github.com/nats-io", "golang.org/x/sync"}},

	// Looks at the configuration of a broker and names its traps.
	{Package: "fleet/doctor", Own: []string{"fleet", "lifecycle"}, Others: []string{"github.com/nats-io", "golang.org/x/sync"}},

	{Package: "collectors", Own: []string{"lifecycle", "fleet", "internal/health", "internal/leader", "internal/pull"}, Others: []string{"github.com/nats-io", "golang.org/x/sync"}, Tests: []string{"collectors/*"}},
	// The synchronizer's tests run the other collectors beside it.
	{Package: "collectors/brokersync", Own: []string{"lifecycle", "fleet", "collectors", "internal/health", "internal/leader"},
		Others: []string{"github.com/nats-io"}, Tests: []string{"collectors/*"}},
	// Reads Firestore; its tests run a server of it.
	{Package: "collectors/idempotency", Own: []string{"lifecycle", "fleet", "collectors", "internal/firestoreclient", "internal/health", "internal/leader"},
		Others: []string{"github.com/nats-io", "cloud.google.com/go/firestore", "google.golang.org/api", "google.golang.org/genproto", "google.golang.org/grpc"},
		Tests:  []string{"internal/firestoretest"}},
	{Package: "collectors/*", Own: []string{"lifecycle", "fleet", "collectors", "internal/health"},
		Others: []string{"github.com/nats-io", "github.com/cloudevents/sdk-go/v2"}},

	// What is hidden of what messages say: it decides about texts.
	{Package: "masking", Others: []string{"github.com/goccy/go-yaml"}},
	// Payloads shown unmasked, one at a time, with a record of who looked.
	{Package: "reveal", Own: []string{"access", "decision", "lifecycle"}},
	// Who may do what: it knows nothing of HTTP.
	{Package: "access", Own: []string{"lifecycle", "decision"}, Others: []string{"github.com/goccy/go-yaml"}}, // Tokens are audited.
	// What decides about dead letters without anybody asking, and tells of the others.
	{Package: "dlqtriage/autotriage", Own: []string{"internal/webhook", "lifecycle", "decision", "dlqtriage", "fleet", "internal/health"}, Others: []string{"github.com/nats-io"},
		Tests: []string{"collectors", "collectors/deadletters"}},
	// What makes sure that each dead message is in the dead-letter queue.
	{Package: "dlqtriage/monitor", Own: []string{"lifecycle", "decision", "dlqtriage", "fleet", "internal/health", "internal/leader"}, Others: []string{"github.com/nats-io"},
		Tests: []string{"collectors", "collectors/deadletters"}},
	{Package: "dlqtriage", Own: []string{"lifecycle", "decision", "fleet", "masking"},
		Others: []string{"github.com/goccy/go-yaml", "github.com/tiktoken-go/tokenizer", "golang.org/x/sync"}}, // The policy file; tokens without a network; entries at once.
	// What the actions decided, on the broker.
	{Package: "dlqtriage/pipeline", Own: []string{"lifecycle", "decision", "dlqtriage", "fleet", "internal/health", "internal/leader"}, Others: []string{"github.com/nats-io"}},
	// What hands messages in flight back to the broker.
	{Package: "dlqtriage/release", Own: []string{"lifecycle", "decision", "dlqtriage", "fleet", "internal/health", "internal/leader"}, Others: []string{"github.com/nats-io"},
		Tests: []string{"collectors", "collectors/*"}},
	// Copies of dead letters in Firestore, for fleets that query it.
	{Package: "dlqtriage/failurelog", Own: []string{"lifecycle", "dlqtriage", "internal/firestoreclient", "internal/health"},
		Others: []string{"cloud.google.com/go/firestore", "google.golang.org/api", "google.golang.org/grpc"}, Tests: []string{"internal/firestoretest"}},
	// What needs attention, and the board of it. What findings follow from comes as values.
	{Package: "alerts", Own: []string{"lifecycle", "decision", "reconcile", "internal/health"}, Others: []string{"github.com/goccy/go-yaml"}},

	// Every question, answered once for all who present.
	{Package: "query", Own: []string{"lifecycle", "alerts", "decision", "dlqtriage", "duplicates", "reconcile", "restarts", "internal/health"}, Others: []string{"github.com/hashicorp/golang-lru/v2", "golang.org/x/sync"},
		Tests: []string{"fleet", "web/webtest"}},

	{Package: "static"},
	{Package: "docs/runbooks"},
	{Package: "views", Own: []string{"lifecycle", "duplicates", "reconcile", "restarts", "dlqtriage", "alerts", "static"},
		Others: []string{"github.com/a-h/templ", "github.com/aymanbagabas/go-udiff"}},
	{Package: "views/*", Own: []string{"lifecycle", "duplicates", "reconcile", "restarts", "dlqtriage", "alerts", "static", "views", "views/*"}, Others: []string{"github.com/a-h/templ"}},
	{Package: "web/webtest", Own: []string{"lifecycle", "reconcile", "store/sqlite", "internal/health"}},
	{Package: "web",
		Own: []string{"lifecycle", "masking", "decision", "duplicates", "dlqtriage", "alerts", "views", "views/*", "static", "fleet", "fleet/doctor", "internal/live", "internal/httperr", "internal/routes", "access",
			"docs/runbooks", "internal/health", "reveal", "internal/openid", "internal/sessions", "query", "reconcile", "restarts"},
		Others: []string{"github.com/gin-gonic/gin", "github.com/a-h/templ", "github.com/yuin/goldmark"}, Tests: []string{"web/webtest", "internal/httpguard"}},
	{Package: "api",
		Own: []string{"lifecycle", "masking", "decision", "internal/requestkey", "duplicates", "dlqtriage", "alerts", "fleet", "fleet/doctor", "collectors/reports", "internal/live", "internal/httperr", "internal/routes", "access", "internal/health",
			"query", "reconcile", "restarts", "reveal"},
		Others: []string{"github.com/gin-gonic/gin", "github.com/danielgtaylor/huma/v2", "github.com/cloudevents/sdk-go/v2"}},

	// Tools for agents: calls of the API, made in the process.
	{Package: "mcp", Own: []string{"access", "lifecycle", "internal/httperr", "internal/routes"}, Others: []string{"github.com/gin-gonic/gin", "github.com/modelcontextprotocol/go-sdk"}},

	// What other programs may import to ask a server.
	{Package: "client", Own: []string{"lifecycle"}},

	{Package: "internal/archtest"},
	// Its tests measure the whole: they run the collectors, the program and its pages' templates.
	{Package: "internal/bench", Others: []string{"github.com/a-h/templ"},
		Tests: []string{"access", "alerts", "api", "collectors", "collectors/*", "decision", "dlqtriage", "duplicates", "fleet", "fleet/*", "internal/health", "internal/live", "internal/routes", "internal/telemetry", "masking", "query", "restarts", "static", "views", "web"}},
	// Tests of agents, collectors and a store together.
	{Package: "internal/crashpoints", Others: []string{"cloud.google.com/go/firestore", "google.golang.org/grpc"},
		Tests: []string{"fleet", "fleet/firestorekit", "collectors", "collectors/*", "internal/firestoretest", "internal/health"}},
	{Package: "internal/dirlock"},
	{Package: "internal/embednats", Own: []string{"fleet", "internal/dirlock"}, Others: []string{"github.com/nats-io"}},
	{Package: "internal/webhook", Others: []string{"github.com/standard-webhooks/standard-webhooks/libraries"}},
	{Package: "internal/firestoreclient", Others: []string{"google.golang.org/api", "google.golang.org/grpc"}},
	{Package: "internal/firestoretest", Own: []string{"internal/testkit"}, Others: []string{
		"cloud.google.com/go/firestore", "google.golang.org/api", "google.golang.org/genproto", "google.golang.org/grpc", "google.golang.org/protobuf",
	}},
	{Package: "internal/health"},
	{Package: "internal/httperr", Own: []string{"lifecycle", "access", "reveal"}, Others: []string{"github.com/gin-gonic/gin", "github.com/danielgtaylor/huma/v2"}},
	{Package: "internal/httpguard", Own: []string{"internal/httperr"}, Others: []string{"github.com/klauspost/compress"}},
	{Package: "internal/leader", Others: []string{"github.com/nats-io"}},
	{Package: "internal/pull", Own: []string{"internal/leader"}, Others: []string{"github.com/nats-io"}},
	{Package: "internal/live", Own: []string{"lifecycle", "decision"}},
	{Package: "internal/replicas", Own: []string{"lifecycle", "internal/live"}, Others: []string{"github.com/nats-io"}},
	{Package: "internal/requestkey", Own: []string{"access", "decision", "lifecycle", "internal/httperr"}, Others: []string{"github.com/gin-gonic/gin"}},
	{Package: "internal/openid", Own: []string{"access"}, Others: []string{"github.com/coreos/go-oidc/v3", "golang.org/x/oauth2"}},
	{Package: "internal/sessions", Own: []string{"access", "lifecycle"}, Others: []string{"golang.org/x/time/rate"}},
	{Package: "internal/routes", Own: []string{"access", "internal/httperr"}, Others: []string{"github.com/gin-gonic/gin", "golang.org/x/time/rate"}},
	{Package: "store/internal/columns", Own: []string{"lifecycle", "dlqtriage"}},
	{Package: "store/internal/intake", Own: []string{"lifecycle", "store/internal/columns", "store/internal/rowcodec"}},
	{Package: "store/internal/migrate"},
	{Package: "store/internal/rowcodec", Own: []string{"lifecycle", "dlqtriage", "reconcile"},
		Others: []string{"github.com/klauspost/compress/s2", "github.com/tinylib/msgp/msgp"}},
	{Package: "internal/screenshots", Own: []string{"fleet"}, Others: []string{"github.com/chromedp", "github.com/nats-io"}},
	// Tests only: it holds pages, API and metrics to one answer.
	{Package: "internal/oneanswer", Tests: []string{"access", "api", "fleet", "internal/health", "internal/live", "internal/routes", "internal/telemetry", "query", "reconcile", "views", "web", "web/webtest"},
		Others: []string{"github.com/gin-gonic/gin"}},
	// Tests only: it runs the program on real brokers and looks at its answers.
	{Package: "internal/situations", Tests: []string{"fleet", "internal/firestoretest"}, Others: []string{"cloud.google.com/go/firestore"}},
	// Tests only: it plays the program's part around fleets that are made at random.
	{Package: "internal/randomfleets", Tests: []string{"fleet", "collectors", "collectors/*", "query"}},
	{Package: "internal/statedocs", Own: []string{"lifecycle"}},
	{Package: "internal/telemetry", Own: []string{"lifecycle", "alerts", "decision", "reconcile", "internal/health", "internal/routes", "query", "restarts"},
		Others: []string{"github.com/prometheus", "github.com/gin-gonic/gin", "go.opentelemetry.io", "golang.org/x/time/rate"}},
	// Sends what became of each task as a trace.
	{Package: "internal/tasktraces", Own: []string{"lifecycle", "internal/health"}, Others: []string{"go.opentelemetry.io"}},
	{Package: "internal/testkit", Own: []string{"fleet", "lifecycle", "internal/embednats"}, Others: []string{"github.com/nats-io", "github.com/jackc/pgx/v5", "github.com/google/go-cmp", "github.com/chromedp", "go.opentelemetry.io/proto/otlp", "google.golang.org/grpc", "google.golang.org/protobuf"}},
	{Package: "internal/testsummary"},
	// Tests only. It plays the program's part around a store that is slow.
	// Tests of the whole: it runs the program and looks at its answers.
	{Package: "internal/torture", Own: []string{"fleet", "fleet/*"},
		Tests: []string{"access", "api", "collectors", "collectors/*", "internal/health", "internal/live", "internal/routes", "query", "reconcile"}},

	{Package: "cmd/server", Own: everything,
		Others: []string{"github.com/alecthomas/kong", "github.com/exaring/otelpgx", "github.com/goccy/go-yaml", "github.com/gin-gonic/gin", "github.com/nats-io", "golang.org/x/sync"}},
}

// testOwn and testOthers is what every test may import beside what its package may.
var (
	testOwn    = []string{"internal/testkit", "internal/embednats", "lifecycle", "store/storetest", "store/sqlite", "store/postgres"}
	testOthers = []string{
		"github.com/standard-webhooks/standard-webhooks/libraries",
		"github.com/PuerkitoBio/goquery", "github.com/chromedp", "github.com/google/go-cmp", "github.com/jackc/pgx/v5", "github.com/nats-io",
		"github.com/gin-gonic/gin", "go.uber.org/goleak", "pgregory.net/rapid", "go.opentelemetry.io", "google.golang.org/grpc", "google.golang.org/protobuf", "github.com/danielgtaylor/huma/v2", "github.com/cloudevents/sdk-go/v2",
		"zombiezen.com/go/sqlite", "golang.org/x/sync", "golang.org/x/net", "github.com/modelcontextprotocol/go-sdk", "github.com/zitadel/oidc/v3",
	}
)
