// Package kubernetestest reads the manifests as a cluster does, without one: by the types of its API, in which a field that does not exist is an error. It is a
// module of its own, so that the program does not depend on the library.
package kubernetestest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the objects that the manifests may hold.
var kinds = map[string]func() any{
	"v1 ConfigMap":                  func() any { return &corev1.ConfigMap{} },
	"v1 ServiceAccount":             func() any { return &corev1.ServiceAccount{} },
	"v1 Service":                    func() any { return &corev1.Service{} },
	"apps/v1 Deployment":            func() any { return &appsv1.Deployment{} },
	"batch/v1 Job":                  func() any { return &batchv1.Job{} },
	"policy/v1 PodDisruptionBudget": func() any { return &policyv1.PodDisruptionBudget{} },
}

// objects are all objects of all manifests.
func objects(t *testing.T) map[string]any {
	t.Helper()
	files, err := filepath.Glob("../kubernetes/*.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("manifests: %v, %v", files, err)
	}
	out := map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
			var kind metav1.TypeMeta
			if err := yaml.Unmarshal(document, &kind); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			name := kind.APIVersion + " " + kind.Kind
			empty := kinds[name]
			if empty == nil {
				t.Fatalf("%s: %s is not a kind that is expected", file, name)
			}
			object := empty()
			if err := yaml.UnmarshalStrict(document, object); err != nil {
				t.Errorf("%s: %s: %v", file, name, err)
			}
			out[name] = object
		}
	}
	return out
}

func TestEveryManifestIsWhatTheClusterExpects(t *testing.T) {
	t.Parallel()
	found := objects(t)
	for name := range kinds {
		if found[name] == nil {
			t.Errorf("no manifest has a %s", name)
		}
	}
}

func TestContainersHaveNoRightsThatTheyDoNotNeed(t *testing.T) {
	t.Parallel()
	found := objects(t)
	pods := map[string]corev1.PodSpec{
		"deployment": found["apps/v1 Deployment"].(*appsv1.Deployment).Spec.Template.Spec,
		"job":        found["batch/v1 Job"].(*batchv1.Job).Spec.Template.Spec,
	}
	for name, pod := range pods {
		if c := pod.SecurityContext; c == nil || c.RunAsNonRoot == nil || !*c.RunAsNonRoot || c.SeccompProfile == nil {
			t.Errorf("%s: the pod may run as root: %+v", name, c)
		}
		for _, container := range pod.Containers {
			c := container.SecurityContext
			if c == nil || c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem || *c.AllowPrivilegeEscalation || len(c.Capabilities.Drop) != 1 || c.Capabilities.Drop[0] != "ALL" {
				t.Errorf("%s: %s has rights that it does not need: %+v", name, container.Name, c)
			}
		}
	}
}

// A secret in a manifest would be in the repository of whoever uses it.
func TestSecretsComeFromSecrets(t *testing.T) {
	t.Parallel()
	deployment := objects(t)["apps/v1 Deployment"].(*appsv1.Deployment)
	for _, variable := range deployment.Spec.Template.Spec.Containers[0].Env {
		if variable.Value != "" || variable.ValueFrom.SecretKeyRef == nil {
			t.Errorf("%s does not come from a secret", variable.Name)
		}
	}
	for name := range objects(t)["v1 ConfigMap"].(*corev1.ConfigMap).Data {
		if strings.Contains(name, "TOKEN") || strings.Contains(name, "PASSWORD") || strings.Contains(name, "DATABASE_URL") {
			t.Errorf("%s is a secret, and stands in the ConfigMap", name)
		}
	}
}

func TestReplicasAreReplacedOneByOneAndProbed(t *testing.T) {
	t.Parallel()
	d := objects(t)["apps/v1 Deployment"].(*appsv1.Deployment)
	c := d.Spec.Template.Spec.Containers[0]
	if *d.Spec.Replicas < 2 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
		t.Errorf("replicas %d, strategy %+v", *d.Spec.Replicas, d.Spec.Strategy)
	}
	if c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.StartupProbe == nil {
		t.Errorf("probes: %+v, %+v", c.LivenessProbe, c.ReadinessProbe)
	}
}

// A variable that is not a setting would be ignored without a word.
func TestVariablesAreSettings(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	found := objects(t)
	var names []string
	for name := range found["v1 ConfigMap"].(*corev1.ConfigMap).Data {
		names = append(names, name)
	}
	for _, pod := range []corev1.PodSpec{found["apps/v1 Deployment"].(*appsv1.Deployment).Spec.Template.Spec, found["batch/v1 Job"].(*batchv1.Job).Spec.Template.Spec} {
		for _, variable := range pod.Containers[0].Env {
			names = append(names, variable.Name)
		}
	}
	for _, name := range names {
		flag := "`--" + strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "FLEETGLASS_"), "_", "-")) + "`"
		if !strings.Contains(string(readme), flag) {
			t.Errorf("%s is not the variable of a setting", name)
		}
	}
}
