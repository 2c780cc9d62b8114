package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fleetglass/access"
	"fleetglass/internal/testkit"
)

// instruction is a line of the Dockerfile: its word, its flags (--chown=…) and the rest.
type instruction struct {
	word  string
	flags map[string]string
	rest  string
}

// stages reads the Dockerfile: the instructions of each stage, each beginning with its FROM.
func stages(t *testing.T) (out [][]instruction) {
	t.Helper()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(string(text), "\\\n", " "), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		in := instruction{word: word, flags: map[string]string{}}
		for in.rest = strings.TrimSpace(rest); strings.HasPrefix(in.rest, "--"); {
			flag, after, _ := strings.Cut(in.rest, " ")
			name, value, _ := strings.Cut(flag, "=")
			in.flags[name], in.rest = value, strings.TrimSpace(after)
		}
		if word == "FROM" {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], in)
	}
	return out
}

// container is what the last stage of the Dockerfile says of the containers that run it.
type container struct {
	t           *testing.T
	root        string
	env         []string
	volumes     []string
	entry       []string
	healthcheck []string
}

// nonroot is the user of the base image whose tag is nonroot, and of nothing else in it.
const nonroot = "65532"

func (c *container) shell(dir string, env []string, command string, args ...string) {
	c.t.Helper()
	cmd := exec.CommandContext(c.t.Context(), "sh", append([]string{"-ec", command, "sh"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		c.t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// build does what the first stage says, with Go of this machine: in a copy of what the engine would be sent, with out in the place of /out.
func (c *container) build(stage []instruction, out string) {
	c.t.Helper()
	src, env := c.t.TempDir(), []string(nil)
	c.shell("../..", nil, `git ls-files -z | tar --anchored --exclude-from="$1" --null --files-from=- -cf - | tar -xf - -C "$2"`, ignored(c.t), src)
	for _, in := range stage[1:] {
		switch in.word {
		case "ARG":
			env = append(env, in.rest)
		case "RUN":
			c.shell(src, env, strings.ReplaceAll(in.rest, "/out", out))
		case "COPY", "WORKDIR": // The copy of the sources.
		default:
			c.t.Fatalf("the first stage says %s: the test does not know it", in.word)
		}
	}
}

// ignored is .dockerignore without what it takes back, as tar excludes.
func ignored(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	var back, out []string
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		if taken, is := strings.CutPrefix(line, "!"); is {
			back = append(back, taken)
		} else {
			out = append(out, line)
		}
	}
	for _, taken := range back {
		above, _, _ := strings.Cut(taken, "/")
		out = slices.DeleteFunc(out, func(line string) bool { return line == above || line == above+"/*" })
	}
	return writeFile(t, "ignored", strings.Join(out, "\n")+"\n")
}

// base makes the root of the base image: the packages of Debian that it is made of, without their scripts, and its user.
func (c *container) base(from string) {
	c.t.Helper()
	if from != "gcr.io/distroless/static-debian12:nonroot" {
		c.t.Fatalf("the base image is %s now: say what it holds", from)
	}
	c.shell("", nil, `mmdebstrap --quiet --variant=extract --include=base-files,netbase,tzdata,ca-certificates bookworm "$1"
		cat "$1"/usr/share/ca-certificates/mozilla/*.crt >"$1"/etc/ssl/certs/ca-certificates.crt
		echo "nonroot:x:$2:$2:nonroot:/home/nonroot:/sbin/nologin" >>"$1"/etc/passwd
		echo "nonroot:x:$2:" >>"$1"/etc/group`, c.root, nonroot)
}

// assemble does what the last stage says.
func (c *container) assemble(stage []instruction, out string) {
	c.t.Helper()
	c.base(stage[0].rest)
	for _, in := range stage[1:] {
		switch in.word {
		case "COPY":
			from, to, _ := strings.Cut(in.rest, " ")
			c.shell("", nil, `cp -a "$1" "$2"`, strings.Replace(from, "/out", out, 1), filepath.Join(c.root, to))
			owner := "0:0"
			if in.flags["--chown"] == "nonroot:nonroot" {
				owner = nonroot + ":" + nonroot
			}
			c.shell("", nil, `chown -R "$1" "$2"`, owner, filepath.Join(c.root, to))
		case "ENV":
			c.env = append(c.env, strings.Fields(in.rest)...)
		case "VOLUME":
			c.volumes = append(c.volumes, in.rest)
		case "HEALTHCHECK":
			c.healthcheck = words(c.t, strings.TrimPrefix(in.rest, "CMD "))
		case "ENTRYPOINT":
			c.entry = words(c.t, in.rest)
		case "EXPOSE":
		default:
			c.t.Fatalf("the last stage says %s: the test does not know it", in.word)
		}
	}
}

func words(t *testing.T, text string) (out []string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// run starts a command in the root, which cannot be written but for its volumes, as the user of the image, without any right beyond.
func (c *container) run(command, more []string) (*exec.Cmd, *output) {
	c.t.Helper()
	enter := `mount --bind "$1" "$1"; cd "$1"; shift
		for volume in $VOLUMES; do mount --bind ".$volume" ".$volume"; done
		mount -o remount,bind,ro .; mount -t proc proc proc
		exec env -i $VARIABLES "$(command -v setpriv)" --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid "$(command -v chroot)" --userspec=` + nonroot + `:` + nonroot + ` . "$@"`
	ctx, cancel := context.WithCancel(context.Background())
	cmd, out := exec.CommandContext(ctx, "unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", enter, "sh", c.root}, command...)...), &output{}
	cmd.Env = append(os.Environ(), "VOLUMES="+strings.Join(c.volumes, " "), "VARIABLES="+strings.Join(append(slices.Clone(c.env), more...), " "))
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(cancel)
	return cmd, out
}

// TestTheImageRunsWithoutAnEngine does the steps of the Dockerfile with Debian's tools, runs what comes of them as the image's user in a root that
// cannot be written, and asks whether it is alive and ready.
func TestTheImageRunsWithoutAnEngine(t *testing.T) {
	if os.Getenv("FLEETGLASS_IMAGE") == "" {
		t.Skip("make image-test runs it: it needs root, mmdebstrap and Debian's mirror")
	}
	all, out := stages(t), filepath.Join(t.TempDir(), "out")
	c := &container{t: t, root: t.TempDir()}
	c.build(all[0], out)
	c.assemble(all[len(all)-1], out)

	_, port, _ := net.SplitHostPort(testkit.FreeAddress(t))
	for i := range c.env { // The port of the image may be taken on this machine.
		c.env[i] = strings.Replace(c.env[i], ":8080", ":"+port, 1)
	}
	token, _ := access.NewToken("test", []access.Scope{access.Admin}, time.Time{})
	settings := []string{"FLEETGLASS_TOKEN=" + token, "FLEETGLASS_NATS_LISTEN=127.0.0.1:0"}
	cmd, log := c.run(c.entry, settings)
	for _, path := range []string{"/healthz", "/readyz"} {
		testkit.Eventually(t, patience, func() error { return c.answers("http://127.0.0.1:"+port+path, settings[0], log) })
	}
	check, said := c.run(c.healthcheck, settings)
	if err := check.Wait(); err != nil {
		t.Errorf("the health check of the image: %v\n%s", err, said)
	}
	c.runsAs(cmd)
	if stored, err := os.ReadDir(filepath.Join(c.root, "data")); err != nil || len(stored) == 0 {
		t.Errorf("nothing is stored in the volume: %v", err)
	}
	if _, err := os.Stat(filepath.Join(c.root, "bin", "sh")); err == nil {
		t.Error("the image has a shell")
	}
}

func (c *container) answers(address, token string, log *output) error {
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimPrefix(token, "FLEETGLASS_TOKEN="))
	response, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, log)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s\n%s", address, response.Status, log)
	}
	return nil
}

// runsAs checks who the program is, by the kernel's word: below the processes of unshare.
func (c *container) runsAs(cmd *exec.Cmd) {
	c.t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
	if err != nil {
		c.t.Fatal(err)
	}
	status, err := os.ReadFile("/proc/" + string(bytes.TrimSpace(children)) + "/status")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, want := range []string{"Name:\tfleetglass\n", "Uid:\t" + strings.Repeat(nonroot+"\t", 3) + nonroot, "CapEff:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !bytes.Contains(status, []byte(want)) {
			c.t.Errorf("the program's status lacks %q:\n%s", want, status)
		}
	}
}
