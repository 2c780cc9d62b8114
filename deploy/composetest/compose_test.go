// Package composetest reads docker-compose.yml as docker compose does, without an engine. It is a module of its own, so that the
// program does not depend on the library.
package composetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"gopkg.in/yaml.v3"
)

const root = "../.."

func load(t *testing.T, env ...string) (*types.Project, error) {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")}, cli.WithEnv(env), cli.WithProfiles([]string{"*"}))
	if err != nil {
		t.Fatal(err)
	}
	return options.LoadProject(context.Background())
}

func project(t *testing.T) *types.Project {
	t.Helper()
	p, err := load(t, "FLEETGLASS_TOKEN=token", "NATS_PASSWORD=password", "METRICS_TOKEN=metrics", "METRICS_TOKEN_SHA256=hash")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheSetIsComplete(t *testing.T) {
	t.Parallel()
	p := project(t)
	for _, name := range []string{"fleetglass", "provision", "nats", "postgres", "firestore", "otel-collector", "jaeger", "prometheus", "alertmanager"} {
		service, err := p.GetService(name)
		if err != nil {
			t.Errorf("service %s: %v", name, err)
			continue
		}
		if service.Build == nil && !strings.Contains(service.Image, ":") {
			t.Errorf("%s: image %q has no version", name, service.Image)
		}
	}
}

func TestSecretsMustBeGiven(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{nil, {"FLEETGLASS_TOKEN=x", "METRICS_TOKEN_SHA256=x"}, {"NATS_PASSWORD=x", "METRICS_TOKEN_SHA256=x"}, {"FLEETGLASS_TOKEN=x", "NATS_PASSWORD=x"}} {
		if _, err := load(t, env...); err == nil || !strings.Contains(err.Error(), "make up") {
			t.Errorf("with %v: got %v, want an error that says where the secret comes from", env, err)
		}
	}
}

func TestEveryPortIsOnLoopback(t *testing.T) {
	t.Parallel()
	for name, service := range project(t).Services {
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %s on %q", name, port.Published, port.HostIP)
			}
		}
	}
}

func TestMountedFilesExistAndAreYAMLWhereTheySaySo(t *testing.T) {
	t.Parallel()
	for name, service := range project(t).Services {
		for _, v := range service.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			text, err := os.ReadFile(v.Source)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !v.ReadOnly {
				t.Errorf("%s mounts %s to be written", name, v.Source)
			}
			var parsed any
			if ext := filepath.Ext(v.Source); ext == ".yml" || ext == ".yaml" {
				if err := yaml.Unmarshal(text, &parsed); err != nil || parsed == nil {
					t.Errorf("%s: %v", v.Source, err)
				}
			}
		}
	}
}

func TestNothingStartsBeforeWhatItNeedsIsHealthy(t *testing.T) {
	t.Parallel()
	p := project(t)
	for name, service := range p.Services {
		for dependency, how := range service.DependsOn {
			needed, err := p.GetService(dependency)
			if err != nil {
				t.Errorf("%s needs %s: %v", name, dependency, err)
			} else if how.Condition == types.ServiceConditionHealthy && needed.HealthCheck == nil {
				t.Errorf("%s waits for the health of %s, which has no check", name, dependency)
			}
		}
	}
	if how := p.Services["fleetglass"].DependsOn["provision"].Condition; how != types.ServiceConditionCompletedSuccessfully {
		t.Errorf("fleetglass starts when provision is %q", how)
	}
}

func TestTheServerGetsNamesOfSettingsThatExist(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fleetglass", "provision"} {
		for variable := range project(t).Services[name].Environment {
			if strings.HasPrefix(variable, "OTEL_") {
				continue // OpenTelemetry's own.
			}
			flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(variable, "FLEETGLASS_")), "_", "-")
			if !strings.Contains(string(readme), "`--"+flag+"`") {
				t.Errorf("%s sets %s, which the table of settings in README.md does not have", name, variable)
			}
		}
	}
}
