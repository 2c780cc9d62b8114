package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// certificateEvery is how often the files are looked at.
const certificateEvery = 2 * time.Second

// certificate follows the files of our own certificate. While they cannot be used, the one before is served.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu     sync.Mutex
	used   []byte // What the files held when they were read last.
	inUse  *tls.Certificate
	failed string
}

func (c *Config) validateCertificate(p *problems) {
	if (c.TLSCert == "") != (c.TLSKey == "") {
		p.add("tls-cert", "must be set together with --tls-key")
		return
	}
	if c.TLSCert == "" {
		return
	}
	if _, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey); err != nil {
		p.add("tls-cert", "%w", err)
	}
}

// secure makes a listener speak TLS where the settings have a certificate.
func (a *App) secure(cfg Config, l net.Listener) (net.Listener, error) {
	if cfg.TLSCert == "" {
		return l, nil
	}
	c := &certificate{certFile: cfg.TLSCert, keyFile: cfg.TLSKey, log: a.log}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	a.secured = true
	a.work("certificate", c.Run)
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: c.get}), nil
}

// Run looks at the files until ctx is done.
func (c *certificate) Run(ctx context.Context) error {
	return again(ctx, certificateEvery, func() { c.say(c.read()) })
}

func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inUse, nil
}

// read takes the certificate of the files where they are others than those in use. Files of which only one was written so far do not fit
// together, and are read again.
func (c *certificate) read() error {
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return err
	}
	both := bytes.Join([][]byte{cert, key}, []byte{0})
	c.mu.Lock()
	same := bytes.Equal(both, c.used)
	c.mu.Unlock()
	if same {
		return nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inUse != nil {
		c.log.Info("another certificate is served now", "file", c.certFile, "until", pair.Leaf.NotAfter)
	}
	c.used, c.inUse = both, &pair
	return nil
}

// say logs why the files cannot be used, once.
func (c *certificate) say(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != c.failed {
		c.log.Error("the certificate stays as it was", "file", c.certFile, "error", err)
	}
	c.failed = text
}
