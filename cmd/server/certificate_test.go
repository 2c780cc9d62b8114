package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fleetglass/internal/testkit"
)

// writeCertificate writes a certificate of its own authority for this machine, and its key. It returns the pool that trusts it.
func writeCertificate(t *testing.T, dir string, serial int64) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "fleetglass"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, &form, &form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	for name, block := range map[string]*pem.Block{"key.pem": {Type: "PRIVATE KEY", Bytes: private}, "cert.pem": {Type: "CERTIFICATE", Bytes: cert}} {
		text := pem.EncodeToMemory(block)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		pool.AppendCertsFromPEM(text)
	}
	return pool
}

// served asks over a new connection, and returns the serial number of the certificate and the protocol.
func (r *running) served(trusted *x509.CertPool) (serial int64, protocol string, err error) {
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}, Timeout: patience}
	defer client.CloseIdleConnections()
	answer, err := client.Get(r.Pages() + "/healthz") //nolint:noctx // The client has a timeout.
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close() //nolint:errcheck // Only read from.
	return answer.TLS.PeerCertificates[0].SerialNumber.Int64(), answer.Proto, nil
}

func TestPagesAreServedByHTTPSWithTheNewestCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trusted := writeCertificate(t, dir, 1)
	r := start(t, settings(t, "--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key", filepath.Join(dir, "key.pem")))
	if serial, protocol, err := r.served(trusted); err != nil || serial != 1 || protocol != "HTTP/2.0" {
		t.Fatalf("got certificate %d by %s, %v", serial, protocol, err)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	stream, err := client.Get(r.Pages() + "/api/v1/stream") //nolint:noctx // It ends with the program.
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close() //nolint:errcheck // Only read from.
	if lines := bufio.NewScanner(stream.Body); stream.StatusCode != 200 || !lines.Scan() {
		t.Errorf("live stream: %s, %v", stream.Status, lines.Err())
	}
	if err := os.WriteFile(filepath.Join(dir, "cert.pem"), []byte("not a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	trusted = writeCertificate(t, dir, 2)
	testkit.Eventually(t, patience, func() error {
		if serial, _, err := r.served(trusted); err != nil || serial != 2 {
			return fmt.Errorf("certificate %d, %w", serial, err)
		}
		return nil
	})
	plain, err := http.Get("http://" + r.Addr() + "/healthz") //nolint:noctx // It is refused at once.
	if err == nil {
		defer plain.Body.Close() //nolint:errcheck // Only read from.
		if plain.StatusCode == 200 {
			t.Error("pages are served without TLS too")
		}
	}
}

func TestACertificateIsGivenWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeCertificate(t, dir, 1)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for _, args := range [][]string{{"--tls-cert", cert}, {"--tls-key", key}, {"--tls-cert", key, "--tls-key", cert}, {"--tls-cert", "/nowhere", "--tls-key", key}} {
		if _, err := load(args, vars(), io.Discard); err == nil || !strings.Contains(err.Error(), "tls-cert") {
			t.Errorf("%v: got %v", args, err)
		}
	}
}
