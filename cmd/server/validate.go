package main

import (
	"math"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"fleetglass/access"
	"fleetglass/alerts"
	"fleetglass/dlqtriage"
	"fleetglass/fleet"
	"fleetglass/masking"
)

// validate adds everything that is wrong with the values themselves or does not go together.
func (c *Config) validate(p *problems) {
	checkAddress(p, "listen", c.Listen)
	if c.Embedded() {
		checkAddress(p, "nats-listen", c.NATSListen)
	}
	if !c.Authenticated() && !loopback(c.Listen) {
		p.add("listen", "%s is not a loopback address, so everybody who reaches it could read the fleet's tasks: set %s (for one token) or --%s "+
			"(see fleetglass token --help), or listen on 127.0.0.1", c.Listen, envName("token"), "auth-tokens-file")
	}
	c.validateBroker(p)
	c.validateStore(p)
	if c.Token != "" {
		if err := access.CheckSecret(c.Token.Reveal()); err != nil {
			p.add("token", "%w; fleetglass token create makes a good one", err)
		}
	}
	if c.BaseURL != "" {
		if u, err := url.Parse(c.BaseURL); err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			p.add("base-url", "%q is not an address such as https://fleetglass.example.org", c.BaseURL)
		} else if !c.Authenticated() && !loopback(withPort(u)) {
			p.add("base-url", "%s is not on this machine, so everybody who reaches the proxy could read the fleet's tasks: set %s or --%s", c.BaseURL,
				envName("token"), "auth-tokens-file")
		}
	}
	if c.AdminListen != "" && !loopback(c.AdminListen) {
		p.add("admin-listen", "%q is not a loopback address such as 127.0.0.1:6060: whoever reads profiles sees the memory of this process and slows it down", c.AdminListen)
	}
	if c.TaskTraces && c.OTLP.Traces == "" {
		p.add("task-traces", "needs OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, the address to send traces to")
	}
	if after := time.Duration(c.TaskTracesAfter); after <= 0 || after > time.Hour {
		p.add("task-traces-after", "%s must be more than 0 and at most 1h", c.TaskTracesAfter)
	}
	c.validateStreams(p)
	if c.MaxBody < 1000 {
		p.add("max-body", "%s is less than 1kB", c.MaxBody)
	}
	if c.DemoRate <= 0 || c.DemoRate > 1000 {
		p.add("demo-rate", "%v must be more than 0 and at most 1,000", c.DemoRate)
	}
	if c.Nice < 0 || c.Nice > 19 {
		p.add("nice", "%d is not between 0 and 19", c.Nice)
	}
	c.validateSignIn(p)
	c.validateCertificate(p)
	if c.RequestsPerSecond < 0 || math.IsNaN(c.RequestsPerSecond) || c.RequestsPerSecond > 1e6 {
		p.add("requests-per-second", "%v is not between 0 and 1,000,000", c.RequestsPerSecond)
	}
	c.validateCost(p)
	if every := time.Duration(c.ReconcileEvery); every > 0 && every < time.Minute {
		p.add("reconcile-every", "%s is less than 1m; 0 is for only the one after a start", c.ReconcileEvery)
	}
	checkChoice(p, "dlq-monitor", c.DLQMonitor, dlqMonitorOn, dlqMonitorOff, dlqMonitorAuto)
	checkChoice(p, "auto-triage", c.AutoTriage, dlqMonitorOn, dlqMonitorOff, dlqMonitorAuto)
	if s := c.escalateSubject(); s != "" {
		if _, _, ok := contract(*c).ParseTaskSubject(s); !ok {
			p.add("escalate-subject", "%q is not the subject of a task, such as %s", s, contract(*c).TaskSubject("ceo", "triage"))
		}
	}
	c.validateReceivers(p)
	if u, err := url.Parse(c.EscalateWebhook.Reveal()); c.EscalateWebhook != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
		p.add("escalate-webhook", "%q is not an address such as https://hooks.example.org/fleet", c.EscalateWebhook)
	}
	for _, agent := range c.DLQPerAgent {
		if !fleet.ValidToken(agent) {
			p.add("dlq-per-agent", "%q is not the name of an agent", agent)
		}
	}
	checkChoice(p, "masking", c.Masking, maskingOn, maskingOff)
	checkFile(p, "masking-rules", c.MaskingRules)
	checkFile(p, "triage-policy", c.TriagePolicy)
	checkFile(p, "alert-rules", c.AlertRules)
	c.validateReveal(p)
	checkChoice(p, "log-level", c.LogLevel, "debug", "info", "warn", "error")
	checkChoice(p, "log-format", c.LogFormat, "text", "json")
	if c.Demo && !c.Embedded() {
		p.add("demo", "publishes invented tasks, so it runs on the embedded broker only: leave --nats-url out")
	}
}

func (c *Config) validateStreams(p *problems) {
	for name, n := range map[string]int{"max-streams": c.MaxStreams, "max-streams-each": c.MaxStreamsEach} {
		if n < 1 || n > 100_000 {
			p.add(name, "%d is not between 1 and 100,000", n)
		}
	}
}

func (c *Config) validateCost(p *problems) {
	for name, value := range map[string]float64{
		"duplicate-cost-low": c.DuplicateCostLow, "duplicate-cost-high": c.DuplicateCostHigh, "duplicate-minutes": c.DuplicateMinutes,
		"record-read-price": c.RecordReadPrice, "record-write-price": c.RecordWritePrice,
	} {
		if math.IsNaN(value) || value < 0 || value > 1e6 {
			p.add(name, "%v is not between 0 and 1,000,000", value)
		}
	}
	if c.DuplicateCostLow > c.DuplicateCostHigh {
		p.add("duplicate-cost-low", "%v is more than --duplicate-cost-high, %v", c.DuplicateCostLow, c.DuplicateCostHigh)
	}
}

func (c *Config) validateBroker(p *problems) {
	for _, u := range c.NATSURL {
		parsed, err := url.Parse(u.Reveal())
		switch {
		case err != nil || parsed.Host == "":
			p.add("nats-url", "%q is not an address such as nats://host:4222", u)
		case !strings.Contains(" nats tls ws wss ", " "+parsed.Scheme+" "):
			p.add("nats-url", "%q: the scheme is not one of nats, tls, ws, wss", u)
		}
	}
	for name, file := range map[string]string{"nats-creds": c.NATSCreds, "nats-ca": c.NATSCA, "nats-cert": c.NATSCert, "nats-key": c.NATSKey} {
		if file != "" && c.Embedded() {
			p.add(name, "is only for your own broker: set --nats-url too")
		}
		checkFile(p, name, file)
	}
	if (c.NATSCert == "") != (c.NATSKey == "") {
		p.add("nats-cert", "must be set together with --nats-key")
	}
	if c.Embedded() && c.NATSPassword == "" && !loopback(c.NATSListen) {
		p.add("nats-listen", "%s is not a loopback address, so everybody who reaches it could read and publish tasks: set %s, or listen on 127.0.0.1",
			c.NATSListen, envName("nats-password"))
	}
	if !c.Embedded() && (c.NATSUser == "") != (c.NATSPassword == "") {
		p.add("nats-user", "must be set together with --nats-password")
	}
	if err := fleet.NewContract(c.Prefix).Validate(); err != nil {
		p.add("prefix", "%w", err)
	}
	if err := (fleet.Contract{Prefix: fleet.DefaultPrefix, Workers: c.WorkerConsumers}).Validate(); err != nil {
		p.add("worker-consumers", "%w", err)
	}
	c.validateReader(p)
	if !fleet.ValidShards(c.CaptureShards) {
		p.add("capture-shards", "%d is not a power of two from 1 to %d", c.CaptureShards, fleet.MaxShards)
	}
	if d := time.Duration(c.Poll); d < 100*time.Millisecond || d > time.Hour {
		p.add("poll-interval", "%s is not between 100ms and 1h", c.Poll)
	}
	if c.FailureLog && c.FirestoreProject == "" && c.FirestoreEmulator == "" {
		p.add("failure-log", "needs --firestore-project, the project to copy dead letters to")
	}
	if strings.ContainsAny(c.FirestoreProject, "/ ") {
		p.add("firestore-project", "%q is not the id of a project", c.FirestoreProject)
	}
	if c.FirestoreDatabase == "" || strings.ContainsAny(c.FirestoreDatabase, "/ ") {
		p.add("firestore-database", "%q is not the name of a database", c.FirestoreDatabase)
	}
	if c.FirestoreEmulator != "" {
		checkAddress(p, "firestore-emulator", c.FirestoreEmulator)
	}
}

// validateReader refuses a further Fleetglass that would change the fleet: what two decide apart from each other happens twice.
func (c *Config) validateReader(p *problems) {
	switch {
	case c.Reader == "":
	case !fleet.ValidReader(c.Reader):
		p.add("reader", "%q is no name such as staging: small letters, digits, - and _, and none of what is read, such as acks", c.Reader)
	case c.Embedded():
		p.add("reader", "is only for your own broker: set --nats-url too")
	case c.DLQMonitor == "on":
		p.add("reader", "does not go with --dlq-monitor=on: one Fleetglass moves what dies, the one without a name")
	}
}

func (c *Config) validateStore(p *problems) {
	if c.DatabaseURL != "" {
		u, err := url.Parse(c.DatabaseURL.Reveal())
		if err != nil || (u.Scheme != "postgres" && u.Scheme != "postgresql") {
			p.add("database-url", "%q is not an address such as postgres://user:password@host/name", c.DatabaseURL)
		}
	}
	if time.Duration(c.Retention) < time.Hour {
		p.add("retention", "%s is less than 1h", c.Retention)
	}
	if c.DataDir == "" {
		p.add("data-dir", "is empty")
	}
}

func checkChoice(p *problems, setting, value string, choices ...string) {
	if !slices.Contains(choices, value) {
		p.add(setting, "%q is not one of %s", value, strings.Join(choices, ", "))
	}
}

func checkFile(p *problems, setting, name string) {
	if name == "" {
		return
	}
	if f, err := os.Open(name); err != nil {
		p.add(setting, "%w", err)
	} else {
		_ = f.Close()
	}
}

// validateFiles adds what is wrong with what the server's files say, so that it stands beside what is wrong with the settings.
func (c *Config) validateFiles(p *problems) {
	checkContent(p, "auth-tokens-file", c.TokensFile, parseTokens)
	checkContent(p, "masking-rules", c.MaskingRules, masking.Parse)
	checkContent(p, "triage-policy", c.TriagePolicy, dlqtriage.ParsePolicy)
	checkContent(p, "alert-rules", c.AlertRules, alerts.ParseRules)
}

func checkContent[T any](p *problems, setting, name string, parse func([]byte) (T, error)) {
	if name == "" {
		return
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return // checkFile says why.
	}
	if _, err := parse(text); err != nil {
		p.add(setting, "%s: %w", name, err)
	}
}

func checkAddress(p *problems, setting, address string) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		p.add(setting, "%q is not an address such as 127.0.0.1:8080", address)
		return
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		p.add(setting, "%q has no valid port", address)
	}
}

// loopback reports whether only this machine reaches the address. A name other than localhost is not looked up: what it means
// may change.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
