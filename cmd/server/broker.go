package main

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/fleet"
	"fleetglass/internal/embednats"
	"fleetglass/internal/health"
)

// broker is the connection to NATS, embedded or not.
type broker struct {
	conn     *nats.Conn
	js       jetstream.JetStream
	embedded *embednats.Server // Nil for a broker of one's own.
	presence *presence
}

// openBroker starts the embedded broker and connects to it through memory, or connects to the given one.
func openBroker(cfg Config, log *slog.Logger) (*broker, error) {
	b := &broker{presence: &presence{}}
	var err error
	if cfg.Embedded() {
		b.embedded, err = embednats.Start(embednats.Config{
			Dir: filepath.Join(cfg.DataDir, "nats"), Contract: contract(cfg), Listen: cfg.NATSListen, Password: cfg.NATSPassword.Reveal(), Logger: log,
			MaxConnections: brokerConnections(descriptors()),
		})
		if err != nil {
			return nil, fmt.Errorf("start the embedded broker: %w", err)
		}
		b.conn, err = b.embedded.Connect(connectionLog(log, nil)...)
	} else {
		b.conn, err = connect(cfg, log, b.presence)
	}
	if err == nil {
		b.js, err = newJetStream(b.conn, cfg.NATSDomain)
	}
	if err != nil {
		return nil, joinClose(err, b.Close)
	}
	return b, nil
}

// Close drops the connection, then stops the embedded broker.
func (b *broker) Close() error {
	if b.conn != nil {
		b.conn.Close()
	}
	if b.embedded != nil {
		return b.embedded.Close()
	}
	return nil
}

// URL is where agents connect.
func (b *broker) URL() string {
	if b.embedded != nil {
		return b.embedded.URL()
	}
	return b.conn.ConnectedUrlRedacted()
}

// name says which server this is, as it said itself when the connection was made.
func (b *broker) name() string {
	if !b.conn.IsConnected() {
		return "not connected"
	}
	out := "version " + b.conn.ConnectedServerVersion()
	if b.embedded != nil {
		return out + ", embedded"
	}
	if cluster := b.conn.ConnectedClusterName(); cluster != "" {
		out += ", cluster " + cluster
	}
	return out + ", server " + b.conn.ConnectedServerName()
}

// Health says whether the connection is there and where agents connect.
func (b *broker) Health() []health.Part {
	p := health.Part{Name: "nats", Kind: "broker", State: health.OK, Detail: "connected to " + b.URL()}
	if b.embedded != nil {
		p.Detail = "embedded, agents connect to " + b.URL()
		if moved, wanted := b.embedded.Moved(); moved {
			p.Detail += ", because " + wanted + " was taken"
		}
	}
	if version := b.conn.ConnectedServerVersion(); fleet.TooOld(version) {
		p.State = health.BestEffort
		p.Detail += "; its version " + version + " is older than nats-server " + fleet.OldestBroker + ", the oldest that Fleetglass supports"
	}
	if b.embedded != nil {
		if why := b.embedded.Sick(); why != "" {
			p.State, p.Detail = health.Down, "the embedded broker cannot store messages; make room and start Fleetglass again: "+why
		}
	}
	if !b.conn.IsConnected() {
		p.State, p.Detail = health.Down, "not connected to the broker"
		if err := b.conn.LastError(); err != nil {
			p.Detail += ": " + err.Error()
		}
	}
	return []health.Part{p}
}

// connect opens a connection to the configured servers and keeps trying when it is lost later. log and watch may be nil.
func connect(cfg Config, log *slog.Logger, watch *presence) (*nats.Conn, error) {
	options := append(connectionLog(log, watch), nats.Name("fleetglass"), nats.MaxReconnects(-1), nats.CustomInboxPrefix("_INBOX_obs"),
		nats.PingInterval(serverPing), nats.MaxPingsOutstanding(pingsUnmet))
	if cfg.NATSCreds != "" {
		options = append(options, nats.UserCredentials(cfg.NATSCreds))
	}
	if cfg.NATSCA != "" {
		options = append(options, nats.RootCAs(cfg.NATSCA))
	}
	if cfg.NATSCert != "" {
		options = append(options, nats.ClientCert(cfg.NATSCert, cfg.NATSKey))
	}
	if cfg.NATSPassword != "" {
		options = append(options, nats.UserInfo(cfg.NATSUser, cfg.NATSPassword.Reveal()))
	}
	servers := make([]string, len(cfg.NATSURL))
	for i, u := range cfg.NATSURL {
		servers[i] = u.Reveal()
	}
	nc, err := nats.Connect(strings.Join(servers, ","), options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %v: %w%s", cfg.NATSURL, err, adviceOn(err))
	}
	if watch != nil {
		watch.connected(nc)
	}
	return nc, nil
}

// adviceOn says what to look at when no server of the broker takes the connection; empty where the error says it itself.
func adviceOn(err error) string {
	switch {
	case errors.Is(err, nats.ErrNoServers):
		return ": no server answers there; is the address right, does the broker run, and may this machine reach it?"
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return ": the broker does not take these credentials; look at --nats-user and --nats-password, or --nats-creds, or --nats-cert"
	case strings.Contains(err.Error(), "certificate signed by unknown authority"):
		return ": name the file of that authority with --nats-ca"
	case strings.Contains(err.Error(), "maximum control line exceeded"):
		return ": a JWT that lists permissions is longer than the broker takes (max_control_line); let a signing key have them, as fleetglass provision --permissions-of observer,retry --nsc prints it"
	}
	return ""
}

// connectionLog logs what becomes of a connection; watch, which may be nil, notices restarts of the broker.
func connectionLog(log *slog.Logger, watch *presence) []nats.Option {
	if log == nil {
		return nil
	}
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("the connection to nats was lost", "error", err)
			}
			if watch != nil {
				watch.disconnected(time.Now())
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			log.Info("connection to nats is back", "url", nc.ConnectedUrlRedacted())
			if watch != nil {
				watch.returned(nc.ConnectedUrl(), nc.ConnectedServerId(), time.Now())
			}
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			log.Warn("nats reports an error", "subject", subject, "error", err)
		}),
	}
}

func newJetStream(nc *nats.Conn, domain string) (jetstream.JetStream, error) {
	var js jetstream.JetStream
	var err error
	if domain == "" {
		js, err = jetstream.New(nc)
	} else {
		js, err = jetstream.NewWithDomain(nc, domain)
	}
	if err != nil {
		return nil, fmt.Errorf("open jetstream: %w", err)
	}
	return js, nil
}
