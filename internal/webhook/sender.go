// Package webhook posts messages to addresses that somebody configured, signed as Standard Webhooks has it. It keeps away from private
// addresses, whatever a name resolves to, unless a network is allowed.
package webhook

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Config says where messages are posted.
type Config struct {
	URL     string           // Required. http or https.
	Secret  string           // Optional; without it messages are not signed. One that begins with whsec_ is base64, any other is taken as it is.
	Allow   []netip.Prefix   // Optional; networks that may be posted to although they are private.
	Timeout time.Duration    // Optional; of one message, default 10 s.
	Now     func() time.Time // Optional; default time.Now.
	HTTP    *http.Client     // Optional; default one that follows no redirect and dials no address outside of Allow and the public networks.
}

// Sender posts messages. It is safe for concurrent use.
type Sender struct {
	cfg    Config
	host   string
	signer *standardwebhooks.Webhook // Nil without a secret.
}

// New checks the configuration and connects to nothing.
func New(cfg Config) (*Sender, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, errors.New("webhook: the address is not one such as https://hooks.example.org/fleet")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.HTTP == nil {
		cfg.HTTP = guardedClient(cfg.Allow)
	}
	s := &Sender{cfg: cfg, host: u.Host}
	switch {
	case strings.HasPrefix(cfg.Secret, "whsec_"):
		s.signer, err = standardwebhooks.NewWebhook(cfg.Secret)
	case cfg.Secret != "":
		s.signer, err = standardwebhooks.NewWebhookRaw([]byte(cfg.Secret))
	}
	if err != nil {
		return nil, errors.New("webhook: the secret begins with whsec_ and is not base64")
	}
	return s, nil
}

// Host is where messages go, without the path, which may be a secret.
func (s *Sender) Host() string { return s.host }

// MessageID is the id of the message that a name stands for, the same however often it is sent: receivers know a repetition by it.
func MessageID(name string) string {
	sum := sha256.Sum256([]byte(name))
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Post posts a JSON body under an id. It returns what the receiver answered, and errors where that is no success.
func (s *Sender) Post(ctx context.Context, id string, body []byte) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	now := s.cfg.Now()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(standardwebhooks.HeaderWebhookID, id)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	if s.signer != nil {
		signature, err := s.signer.Sign(id, now, body)
		if err != nil {
			return "", fmt.Errorf("sign the message: %w", err)
		}
		request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	}
	response, err := s.cfg.HTTP.Do(request)
	if err != nil {
		return "", fmt.Errorf("post to the webhook: %w", plain(err))
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // So that the connection can be used again.
	if response.StatusCode/100 != 2 {
		return "", fmt.Errorf("the webhook answers %s", response.Status)
	}
	return response.Status, nil
}

// plain is an error without the address, which may hold a secret.
func plain(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
