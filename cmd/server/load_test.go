package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"fleetglass/access"
)

// vars is an environment of its own: tests do not read the process's.
func vars(pairs ...string) (env environment) {
	for i := 0; i+1 < len(pairs); i += 2 {
		env = append(env, pairs[i]+"="+pairs[i+1])
	}
	return env
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDefaultsServeTheEmbeddedBrokerOnLoopback(t *testing.T) {
	t.Parallel()
	l, err := load(nil, vars(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	cfg := l.cli.Config
	if cfg.Listen != "127.0.0.1:8080" || cfg.NATSListen != "127.0.0.1:4222" || !cfg.Embedded() || cfg.Authenticated() || cfg.Demo {
		t.Errorf("defaults: %+v", cfg)
	}
	if time.Duration(cfg.Retention) != 30*24*time.Hour || cfg.MaxBody != 4_000_000 || filepath.Base(cfg.DataDir) != "fleetglass-data" {
		t.Errorf("defaults: %+v", cfg)
	}
	if got := l.context.Command(); got != "serve" {
		t.Errorf("command %q, want serve", got)
	}
}

func TestFlagsBeatTheEnvironmentBeatsTheFileBeatsDefaults(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "fleetglass.yaml", "listen: 127.0.0.1:1001\nprefix: file\nenvironment: file\nretention: 1d\ndemo: true\n")
	l, err := load([]string{"--config", file, "--listen", "127.0.0.1:3003"},
		vars("FLEETGLASS_LISTEN", "127.0.0.1:2002", "FLEETGLASS_PREFIX", "environ"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{l.cli.Listen, l.cli.Prefix, l.cli.Environment, l.cli.Retention.String(), fmt.Sprint(l.cli.Demo), l.cli.NATSListen}
	want := []string{"127.0.0.1:3003", "environ", "file", "1d", "true", "127.0.0.1:4222"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestTheFileMayBeNamedInTheEnvironmentAndHoldLists(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "fleetglass.yaml", "nats-url:\n  - nats://a:4222\n  - nats://b:4222\ndemo-rate: 2.5\n")
	l, err := load(nil, vars("FLEETGLASS_CONFIG", file), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(l.cli.NATSURL) != 2 || l.cli.NATSURL[1].Reveal() != "nats://b:4222" || l.cli.DemoRate != 2.5 {
		t.Errorf("settings: %v %v", l.cli.NATSURL, l.cli.DemoRate)
	}
}

// Templates of settings, such as those of Compose, write a variable for everything and leave empty what nobody chose.
func TestAnEmptySettingIsOneThatNobodyGave(t *testing.T) {
	t.Parallel()
	for _, from := range []struct {
		name string
		args []string
		env  environment
	}{
		{"variables", nil, vars("FLEETGLASS_NATS_CA", "", "FLEETGLASS_TLS_CERT", "", "FLEETGLASS_TLS_KEY", "", "FLEETGLASS_RETENTION", "", "FLEETGLASS_DATA_DIR", "", "FLEETGLASS_CONFIG", "")},
		{"flags", []string{"--nats-ca=", "--tls-cert=", "--tls-key="}, vars()},
		{"file", []string{"--config", writeFile(t, "fleetglass.yaml", "nats-ca: ''\ntls-cert: ''\ntls-key: ''\n")}, vars()},
	} {
		l, err := load(from.args, from.env, io.Discard)
		if err != nil {
			t.Errorf("%s: %v", from.name, err)
			continue
		}
		if cfg := l.cli.Config; cfg.NATSCA != "" || cfg.TLSCert != "" || cfg.TLSKey != "" || time.Duration(cfg.Retention) != 30*24*time.Hour || filepath.Base(cfg.DataDir) != "fleetglass-data" {
			t.Errorf("%s: nats-ca %q, tls-cert %q, tls-key %q, retention %v, data-dir %q", from.name, cfg.NATSCA, cfg.TLSCert, cfg.TLSKey, cfg.Retention, cfg.DataDir)
		}
	}
}

func TestEveryWrongSettingIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "fleetglass.yaml", "retention: soon\nlissen: 127.0.0.1:1\nbase-url: {a: b}\n")
	_, err := load([]string{
		"--config", file, "--max-body", "huge", "--demo-rate", "fast", "--log-level", "loud", "--nats-url", "http://x", "--nats-creds", "/no/such/file",
		"--firestore-project", "a/b", "--firestore-emulator", "nowhere", "--nats-cert", file, "--demo", "--nice", "20",
	}, vars("FLEETGLASS_LISTEN", "0.0.0.0:8080", "FLEETGLASS_DATABASE_URL", "mysql://u:hunter2@h/d", "FLEETGLASS_POLL_INTERVAL", "1ms",
		"FLEETGLASS_READ_ONLY", "perhaps", "FLEETGLASS_TOKEN", "", "FLEETGLASS_PREFIX", "a b"), io.Discard)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"--retention (FLEETGLASS_RETENTION)", `"lissen" is not a setting`, "--base-url", "--max-body", "--demo-rate", "--log-level", "--nats-url",
		"--nats-creds", "--firestore-project", "--firestore-emulator", "--nats-cert", "--demo (", "--listen (FLEETGLASS_LISTEN)", "--database-url", "--poll-interval",
		"--read-only", "--prefix", "--nice",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows a password:\n%v", err)
	}
}

func TestAFurtherReaderOnlyReads(t *testing.T) {
	t.Parallel()
	own := []string{"--nats-url", "nats://127.0.0.1:4222", "--reader"}
	for _, tt := range []struct {
		args []string
		want string // Empty where nothing is wrong.
	}{
		{append(own, "staging", "--read-only"), ""},
		{append([]string{"provision"}, append(own, "staging")...), ""},
		{append(own, "staging"), "needs --read-only"},
		{append(own, "staging", "--read-only", "--dlq-monitor", "on"), "does not go with --dlq-monitor=on"},
		{append(own, "Staging.1", "--read-only"), `"Staging.1" is no name`},
		{append(own, "acks", "--read-only"), `"acks" is no name`},
		{append(own, "deadletters", "--read-only"), `"deadletters" is no name`},
		{[]string{"--reader", "staging", "--read-only"}, "set --nats-url too"},
	} {
		_, err := load(tt.args, vars(), io.Discard)
		if text := fmt.Sprint(err); tt.want == "" && err != nil || tt.want != "" && !strings.Contains(text, "--reader") || !strings.Contains(text, tt.want) {
			t.Errorf("%v: got %v, want %q", tt.args, err, tt.want)
		}
	}
}

func TestAValueThatCannotBeReadIsNamedOnceInPlainWords(t *testing.T) {
	t.Parallel()
	_, err := load([]string{"--max-body", "huge", "--demo-rate", "fast", "--nice", "1.5", "--reconcile-every", "-1h", "--retention="}, vars("FLEETGLASS_READ_ONLY", "perhaps"), io.Discard)
	want := strings.Join([]string{
		`--demo-rate (FLEETGLASS_DEMO_RATE): "fast" is not a number`,
		`--max-body (FLEETGLASS_MAX_BODY): "huge" is not a size such as 512kB, 4MB or 1GB`,
		`--nice (FLEETGLASS_NICE): "1.5" is not a whole number`,
		`--read-only (FLEETGLASS_READ_ONLY): "perhaps" is neither true nor false`,
		`--reconcile-every (FLEETGLASS_RECONCILE_EVERY): has no value; write one that begins with a dash as --reconcile-every=VALUE`,
		`--retention (FLEETGLASS_RETENTION): "" is not a duration such as 30d, 12h or 5s`,
	}, "\n")
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestWhatIsWrongInFilesIsNamedBesideTheSettings(t *testing.T) {
	t.Parallel()
	file := writeFile(t, "wrong.yaml", "nonsense: [1]\n")
	args := []string{"--auth-tokens-file", file, "--masking-rules", file, "--triage-policy", file, "--alert-rules", file, "--log-level", "loud"}
	_, err := load(args, vars(), io.Discard)
	for _, setting := range []string{"--auth-tokens-file", "--masking-rules", "--triage-policy", "--alert-rules", "--log-level"} {
		if n := strings.Count(fmt.Sprint(err), setting+" ("); n != 1 {
			t.Errorf("%s is named %d times, want once:\n%v", setting, n, err)
		}
	}
	if _, err := load(append([]string{"doctor"}, args[:8]...), vars(), io.Discard); err != nil {
		t.Errorf("a command that does not use these files: %v", err)
	}
}

func TestWithoutAuthenticationOnlyLoopbackIsListenedOn(t *testing.T) {
	t.Parallel()
	_, entry := access.NewToken("ceo", []access.Scope{access.Read}, time.Time{})
	file, err := access.Marshal(entry)
	if err != nil {
		t.Fatal(err)
	}
	tokens := writeFile(t, "tokens.yaml", string(file))
	for _, address := range []string{"0.0.0.0:8080", ":8080", "[::]:8080", "192.0.2.1:80", "fleetglass.example.org:80"} {
		_, err := load([]string{"--listen", address}, vars(), io.Discard)
		if err == nil || !strings.Contains(err.Error(), "FLEETGLASS_TOKEN") || !strings.Contains(err.Error(), "--auth-tokens-file") {
			t.Errorf("%s: got %v, want an error that says how to configure authentication", address, err)
		}
		if _, err := load([]string{"--listen", address, "--auth-tokens-file", tokens}, vars(), io.Discard); err != nil {
			t.Errorf("%s with tokens: %v", address, err)
		}
		if _, err := load([]string{"--nats-listen", address}, vars(), io.Discard); err == nil || !strings.Contains(err.Error(), "FLEETGLASS_NATS_PASSWORD") {
			t.Errorf("broker on %s: got %v, want an error that names the password", address, err)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:8080", "localhost:8080", "127.8.8.8:1"} {
		if _, err := load([]string{"--listen", address}, vars(), io.Discard); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestSecretsDoNotShowThemselves(t *testing.T) {
	t.Parallel()
	l, err := load([]string{
		"--token", "hunter2-9f2c41d87be05a36c1e47f08d25b", "--database-url", "postgres://ada:hunter2@db/fleet?password=hunter2", "--nats-url",
		"nats://ada:hunter2@a,tls://hunter2@b:4222", "--nats-user", "x", "--nats-password", "hunter2",
	}, vars(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	shown := fmt.Sprintf("%v %+v %#v %s", l.cli.Config, l.cli.Config, l.cli.Config, l.effective())
	if i := strings.Index(shown, "hunter2"); i >= 0 {
		t.Errorf("a secret shows itself: …%s…", shown[max(0, i-60):min(len(shown), i+20)])
	}
	if !strings.Contains(shown, "ada:xxxxx@db") {
		t.Errorf("the rest of an address should show: %s", shown)
	}
	if l.cli.Token.Reveal() != "hunter2-9f2c41d87be05a36c1e47f08d25b" || !strings.Contains(l.cli.DatabaseURL.Reveal(), "ada:hunter2@") {
		t.Error("a secret was changed")
	}
}

func TestTheEffectiveConfigurationListsEverySetting(t *testing.T) {
	t.Parallel()
	l, err := load([]string{"--prefix", "acme", "--token", "9f2c41d87be05a36c1e47f08d25bb61e", "--alert-webhook", "https://hooks.example.org/services/secret"}, vars(), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, a := range l.effective().Value.Group() {
		shown[a.Key] = a.Value.String()
	}
	for _, flag := range l.context.Model.Flags {
		if _, ok := shown[flag.Name]; !ok && flag.Name != "help" {
			t.Errorf("%s is not in the effective configuration", flag.Name)
		}
	}
	if shown["prefix"] != "acme" || shown["token"] != "set, not shown" || shown["alert-webhook"] != "https://hooks.example.org (the rest is not shown)" || shown["retention"] != "30d" || shown["max-body"] != "4MB" {
		t.Errorf("effective configuration: %v", shown)
	}
}

func TestUnknownFlagsAndCommandsAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--lissen", "x"}, {"fly"}, {"provision", "--force"}} {
		if _, err := load(args, vars(), io.Discard); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

func TestHelpSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if code := run(t.Context(), []string{"--help"}, vars("FLEETGLASS_LISTEN", "nonsense"), &out, io.Discard); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"provision", "rebuild", "healthcheck", "--nats-url", "FLEETGLASS_NATS_URL", "--auth-tokens-file"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q:\n%s", want, &out)
		}
	}
}

func TestValuesReadWhatTheyWrite(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"30d": "30d", "1d12h": "1d12h", "90s": "1m30s", "0s": "0s", "36h": "1d12h", "12h": "12h", "300s": "5m", "1h30s": "1h0m30s", "90m": "1h30m"} {
		var d Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d.String() != want {
			t.Errorf("duration %q: got %q, %v; want %q", text, d, err, want)
		}
	}
	for text, want := range map[string]ByteSize{"4MB": 4e6, "512kB": 512e3, "1.5GB": 1.5e9, "100": 100, "7B": 7} {
		var b, again ByteSize
		if err := b.UnmarshalText([]byte(text)); err != nil || b != want {
			t.Errorf("size %q: got %d, %v; want %d", text, b, err, want)
		}
		if err := again.UnmarshalText([]byte(b.String())); err != nil || again != b {
			t.Errorf("size %s does not read back: %d, %v", b, again, err)
		}
	}
	for _, text := range []string{"", "d", "-1d", "1x", "soon", "99999999d"} {
		if err := new(Duration).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("duration %q: no error", text)
		}
	}
	for _, text := range []string{"", "-1MB", "MB", "4TB", "1e400", "NaN"} {
		if err := new(ByteSize).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("size %q: no error", text)
		}
	}
}

func FuzzValues(f *testing.F) {
	for _, text := range []string{"30d", "1d12h", "4MB", "0", "nats://a:b@c:4222", "postgres://u@h/d?password=x", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var d, again Duration
		if d.UnmarshalText([]byte(text)) == nil {
			if err := again.UnmarshalText([]byte(d.String())); err != nil || again != d {
				t.Errorf("duration %q: %s does not read back: %v", text, d, err)
			}
		}
		var b, same ByteSize
		if b.UnmarshalText([]byte(text)) == nil {
			if err := same.UnmarshalText([]byte(b.String())); err != nil || same != b {
				t.Errorf("size %q: %s does not read back: %v", text, b, err)
			}
		}
		_ = URL(text).String()
	})
}
