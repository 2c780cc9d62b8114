package firestoretest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// Emulator starts Google's emulator and returns its address; empty where it is not installed. It stops when the test ends.
func Emulator(t testing.TB) string {
	t.Helper()
	jar := emulatorJar(t.Context())
	java, err := exec.LookPath("java")
	if jar == "" || err != nil {
		return ""
	}
	for range 3 {
		if addr := startEmulator(t, java, jar); addr != "" {
			return addr
		}
	}
	t.Fatal("the emulator ends before it answers")
	return ""
}

// startEmulator returns the address once the emulator answers there; empty where it ended before: somebody else may have taken its port meanwhile.
func startEmulator(t testing.TB, java, jar string) string {
	t.Helper()
	host, port, err := net.SplitHostPort(testkit.FreeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(java, "-Xmx256m", "-XX:+UseSerialGC", "-cp", jar, "com.google.cloud.datastore.emulator.firestore.CloudFirestore", "start",
		"--host="+host, "--port="+port)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // It is killed in the end.
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	addr := net.JoinHostPort(host, port)
	gone := false
	testkit.Eventually(t, time.Minute, func() error {
		select {
		case <-ended:
			gone = true
			return nil
		default:
			return answers(t.Context(), "http://"+addr)
		}
	})
	if gone {
		return ""
	}
	return addr
}

// emulatorJar asks Debian's package manager.
func emulatorJar(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "dpkg", "-L", "google-cloud-cli-firestore-emulator").Output()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if file := strings.TrimSpace(line); strings.HasSuffix(file, ".jar") {
			return file
		}
	}
	return ""
}

func answers(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && !strings.Contains(string(body), "Ok") {
		err = fmt.Errorf("%s answers %q", url, body)
	}
	return err
}
