package fleet_test

import (
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fleetglass/fleet"

	"github.com/nats-io/nats-server/v2/server"
)

func printedPlan(t *testing.T) *fleet.Plan {
	t.Helper()
	plan, err := fleet.NewPlan(t.Context(), plainServer(t, ""), fleet.Streams{Contract: fleet.NewContract(""), Readers: true})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func readConfig(users string) (*server.Options, error) {
	o := &server.Options{}
	return o, o.ProcessConfigString("accounts { FLEET { users: [\n" + users + "] } }")
}

// An entry without a password lets in whoever gives the name.
func TestABrokerDoesNotStartOnPrintedUsersBeforePasswordsAreChosen(t *testing.T) {
	plan := printedPlan(t)
	text := plan.PermissionsText()
	if _, err := readConfig(text); err == nil || !strings.Contains(err.Error(), "FLEETGLASS_OBSERVER_PASSWORD") {
		t.Errorf("the broker takes the users as they are printed: %v", err)
	}
	for _, found := range regexp.MustCompile(`\$([A-Z_]+_PASSWORD)`).FindAllStringSubmatch(text, -1) {
		t.Setenv(found[1], "chosen-for-"+found[1])
	}
	o, err := readConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Users) != len(plan.Permissions) {
		t.Errorf("%d users, want %d", len(o.Users), len(plan.Permissions))
	}
	for _, u := range o.Users {
		if !strings.HasPrefix(u.Password, "chosen-for-") || u.Permissions == nil {
			t.Errorf("user %s: password %q, permissions %v", u.Username, u.Password, u.Permissions)
		}
	}
}

func TestOneUserMayDoWhatSeveralIdentitiesMay(t *testing.T) {
	plan := printedPlan(t)
	user, err := plan.JointPermissions([]string{"observer", "retry"})
	if err != nil {
		t.Fatal(err)
	}
	text := user.UserText()
	t.Setenv("FLEETGLASS_PASSWORD", "chosen")
	o, err := readConfig(text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	var publish, subscribe []string
	for _, id := range plan.Permissions {
		if id.Name == "observer" || id.Name == "retry" {
			publish, subscribe = append(publish, id.Publish...), append(subscribe, id.Subscribe...)
		}
	}
	slices.Sort(publish)
	slices.Sort(subscribe)
	got := o.Users[0]
	slices.Sort(got.Permissions.Publish.Allow)
	slices.Sort(got.Permissions.Subscribe.Allow)
	want := fmt.Sprint("fleetglass chosen ", slices.Compact(publish), slices.Compact(subscribe))
	if text := fmt.Sprint(got.Username, " ", got.Password, " ", got.Permissions.Publish.Allow, got.Permissions.Subscribe.Allow); len(o.Users) != 1 || text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// The users of one broker are written into one file, which refuses a name that comes twice.
func TestUsersThatArePrintedApartLiveOnOneBroker(t *testing.T) {
	js := plainServer(t, "")
	var users strings.Builder
	for reader, names := range map[string][]string{"": {"observer", "operator", "agent:cto", "agent:content-writer"}, "staging": {"observer"}} {
		plan, err := fleet.NewPlan(t.Context(), js, fleet.Streams{Contract: fleet.NewContract(""), Readers: true, By: fleet.DurablePrefix(reader)})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			user, err := plan.JointPermissions([]string{name})
			if err != nil {
				t.Fatal(err)
			}
			users.WriteString(user.UserText())
		}
	}
	for _, found := range regexp.MustCompile(`\$([^ ,]+_PASSWORD)`).FindAllStringSubmatch(users.String(), -1) {
		if strings.Trim(found[1], "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
			t.Errorf("no shell can set the variable %s", found[1])
		}
		t.Setenv(found[1], "chosen-for-"+found[1])
	}
	o, err := readConfig(users.String())
	if err != nil {
		t.Fatalf("%v:\n%s", err, users.String())
	}
	passwords := map[string]string{}
	for _, u := range o.Users {
		passwords[u.Username] = u.Password
	}
	want := map[string]string{
		"fleetglass": "chosen-for-FLEETGLASS_PASSWORD", "fleetglass-staging": "chosen-for-FLEETGLASS_STAGING_PASSWORD",
		"fleetglass-operator": "chosen-for-FLEETGLASS_OPERATOR_PASSWORD", "cto": "chosen-for-CTO_PASSWORD", "content-writer": "chosen-for-CONTENT_WRITER_PASSWORD",
	}
	if !maps.Equal(passwords, want) {
		t.Errorf("users %v, want %v", passwords, want)
	}
	for _, u := range o.Users {
		if u.Username == "content-writer" && !slices.Contains(u.Permissions.Publish.Allow, "$JS.API.CONSUMER.MSG.NEXT.TASKS.content-writer-task-worker") {
			t.Errorf("it may not take its own tasks: %v", u.Permissions.Publish.Allow)
		}
	}
}

func TestAnIdentityThatDoesNotExistIsNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"writer", "agent", "agent:", "agent:two words", "agent:a.b", "agent:cto"} {
		if user, err := printedPlan(t).JointPermissions([]string{"observer", name}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, user, err)
		}
	}
}

func TestAFurtherReaderHasNoIdentityToChangeTheFleetWith(t *testing.T) {
	t.Parallel()
	s := fleet.Streams{Contract: fleet.NewContract(""), Readers: true, By: fleet.DurablePrefix("staging")}
	var names []string
	for _, id := range s.Permissions() {
		names = append(names, id.Name)
		if id.Name != "observer" {
			continue
		}
		for _, subject := range id.Publish {
			if strings.Contains(subject, "MSG.NEXT") && !strings.Contains(subject, ".fleetglass-staging-") {
				t.Errorf("it may read what the first reads: %s", subject)
			}
		}
		if !slices.Contains(id.Publish, "$JS.API.CONSUMER.MSG.NEXT.OBS_ACK.fleetglass-staging-acks") {
			t.Errorf("it may not read acknowledgements: %v", id.Publish)
		}
	}
	if want := []string{"observer", "agent", "operator"}; !slices.Equal(names, want) {
		t.Errorf("identities %v, want %v", names, want)
	}
}

func TestEveryReaderOfDeadLettersIsKnown(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"fleetglass-deadletters": true, "fleetglass-staging-deadletters": true, "fleetglassy-deadletters": false, "deadletters": false, "fleetglass-acks": false, "cto-task-worker": false,
	} {
		if got := fleet.IsReader(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Subjects begin with a dollar and have stars: a shell must pass them on as they are.
func TestAShellRunsThePrintedCommandOfNSC(t *testing.T) {
	t.Parallel()
	id := fleet.Streams{Contract: fleet.NewContract("")}.Permissions()[0]
	script := "nsc() { printf '%s\\n' \"$@\"; }\n" + id.CommandText()
	without := exec.CommandContext(t.Context(), "sh", "-c", script)
	without.Env, without.Dir = []string{}, t.TempDir()
	if out, err := without.CombinedOutput(); err == nil || !strings.Contains(string(out), "nsc edit account --sk generate") || strings.Contains(string(out), "--allow-pub") {
		t.Errorf("without a signing key: %v, %s", err, out)
	}
	with := exec.CommandContext(t.Context(), "sh", "-c", script)
	with.Env, with.Dir = []string{"SIGNING_KEY=AKEY"}, t.TempDir() // A wrong form may write files.
	out, err := with.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, script)
	}
	want := []string{"edit", "signing-key", "--sk", "AKEY", "--role", id.User}
	for _, s := range id.Publish {
		want = append(want, "--allow-pub", s)
	}
	for _, s := range id.Subscribe {
		want = append(want, "--allow-sub", s)
	}
	want = append(want, "add", "user", "--name", id.User, "--private-key", id.User)
	if got := strings.Split(strings.TrimSpace(string(out)), "\n"); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}
