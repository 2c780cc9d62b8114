package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Whoever misspells a variable must learn it at start: the default in its place may delete what somebody meant to keep.
func TestEveryUnknownVariableIsNamedAtStart(t *testing.T) {
	t.Parallel()
	_, err := load([]string{"--max-body", "huge"}, vars(
		"FLEETGLASS_RETENTON", "400d", "FLEETGLASS_NAST_PASSWORD", "hunter2", "FLEETGLASS_RETENTION_DAYS", "400", "FLEETGLASS_PORT", "8080", "FLEETGLASS_APPLY", "true",
		"FLEETGLASS_COLOUR", "red", "FLEETGLASS_UNSET", "", "FLEETGLASS_LISTEN", "127.0.0.1:1", "OTHER_RETENTON", "1d"), io.Discard)
	if err == nil {
		t.Fatal("misspelt variables are accepted")
	}
	for _, want := range []string{
		"FLEETGLASS_RETENTON is not a setting; did you mean FLEETGLASS_RETENTION?", "FLEETGLASS_NAST_PASSWORD is not a setting; did you mean FLEETGLASS_NATS_PASSWORD?",
		"FLEETGLASS_RETENTION_DAYS is not a setting; did you mean FLEETGLASS_RETENTION?", "--max-body (FLEETGLASS_MAX_BODY)",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	for _, never := range []string{"UNSET", "OTHER", "hunter2", "FLEETGLASS_LISTEN", "COLOUR"} {
		if strings.Contains(err.Error(), never) {
			t.Errorf("the error says %q:\n%v", never, err)
		}
	}
}

// A variable that is like no setting may be somebody else's, such as a script's that calls the API.
func TestAVariableThatIsLikeNoSettingIsNoted(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	if code := run(t.Context(), []string{"version"}, vars("FLEETGLASS_COLOUR", "red", "FLEETGLASS_UNSET", ""), io.Discard, &said); code != 0 {
		t.Errorf("it ends with %d", code)
	}
	if want := "fleetglass: FLEETGLASS_COLOUR is not a setting, and nothing reads it\n"; said.String() != want {
		t.Errorf("it says %q", said.String())
	}
}

func TestAMisspeltNameInTheFileIsToldTheNearestSetting(t *testing.T) {
	t.Parallel()
	_, err := load([]string{"--config", writeFile(t, "fleetglass.yaml", "lissen: 127.0.0.1:1\n")}, vars(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), `"lissen" is not a setting; did you mean listen?`) {
		t.Errorf("error %v", err)
	}
}

// Kubernetes writes the first ones into every pod beside a Service of ours, and the broker reads the second ones.
func TestVariablesOfOthersWithOurPrefixAreLeftToThem(t *testing.T) {
	t.Parallel()
	_, err := load(nil, vars(
		"FLEETGLASS_SERVICE_HOST", "10.0.0.1", "FLEETGLASS_SERVICE_PORT", "80", "FLEETGLASS_SERVICE_PORT_HTTP", "80", "FLEETGLASS_PORT", "tcp://10.0.0.1:80",
		"FLEETGLASS_PORT_80_TCP", "tcp://10.0.0.1:80", "FLEETGLASS_PORT_80_TCP_PROTO", "tcp", "FLEETGLASS_PORT_80_TCP_PORT", "80", "FLEETGLASS_PORT_80_TCP_ADDR", "10.0.0.1",
		"FLEETGLASS_NATS_SERVICE_HOST", "10.0.0.2", "FLEETGLASS_NATS_PORT", "tcp://10.0.0.2:4222",
		"FLEETGLASS_PASSWORD", "a", "FLEETGLASS_OPERATOR_PASSWORD", "b", "FLEETGLASS_STAGING_PASSWORD", "c"), io.Discard)
	if err != nil {
		t.Error(err)
	}
}

func TestEveryVariableThatTheRepositoryNamesIsAccepted(t *testing.T) {
	t.Parallel()
	var pairs []string
	for _, name := range variablesNamedIn(t, "../..") {
		pairs = append(pairs, name, "x")
	}
	if len(pairs) < 2*40 {
		t.Fatalf("only %d variables were found", len(pairs)/2)
	}
	if _, err := load(nil, vars(pairs...), io.Discard); err != nil && strings.Contains(err.Error(), "is not a setting") {
		t.Error(err)
	}
}

// variablesNamedIn are the variables with our prefix that documents, scripts and code name, but for those of the tests above.
func variablesNamedIn(t *testing.T, root string) (names []string) {
	t.Helper()
	variable := regexp.MustCompile(`\bFLEETGLASS_[A-Z0-9_]*[A-Z0-9]\b`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.IsDir() || filepath.Base(path) == "variables_test.go" || !slices.Contains([]string{".go", ".md", ".sh", ".yaml", ".yml", ".service", ""}, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		names = append(names, variable.FindAllString(string(text), -1)...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
