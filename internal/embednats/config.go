package embednats

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"fleetglass/fleet"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// account is the one that agents and Fleetglass share.
	account = "FLEET"
	// user is who a client without credentials is.
	user = "fleet"

	// maxPayload is eight times the server's default, because agents ship long contexts. Beyond it nats-server itself advises against:
	// larger inputs belong in an object store, with a reference in the task.
	maxPayload = 8 << 20
	// maxMemory bounds memory streams. Fleetglass keeps everything in files, so it is for the fleet's own use.
	maxMemory = 64 << 20
	// defaultMaxFile bounds all streams together. The capture streams reserve less than 2 GB of it.
	defaultMaxFile = 10 << 30
	// triedPorts is how many ports are tried, the wanted one included.
	triedPorts = 32
)

// Config is how to run the server.
type Config struct {
	Dir      string         // Required. Directory of the streams; created when missing, and only one server may use it at a time.
	Contract fleet.Contract // Optional; default prefix [fleet.DefaultPrefix].
	// Listen is the TCP address for clients outside the process, host:port, where port 0 is any free one. When the port is taken, the
	// next free one is used; [Server.Moved] says so. Optional; default none: only [Server.Connect] reaches the server.
	Listen string
	// Password is what every client must present, as user "fleet". Optional; without one clients need no credentials, and Listen must be
	// a loopback address.
	Password string
	// MaxConnections is how many clients may be connected, those through memory included. Optional; default that of nats-server.
	MaxConnections int
	MaxFile        int64        // Optional; default 10 GB. Bytes that all streams together may take.
	Logger         *slog.Logger // Optional; default discards. The server's notices are logged at debug level.
}

func (c Config) validate() (Config, error) {
	if c.Dir == "" {
		return c, errors.New("embedded nats: Dir is required")
	}
	if c.Contract.Prefix == "" {
		c.Contract.Prefix = fleet.DefaultPrefix
	}
	if err := c.Contract.Validate(); err != nil {
		return c, fmt.Errorf("embedded nats: %w", err)
	}
	if c.MaxFile <= 0 {
		c.MaxFile = defaultMaxFile
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Listen == "" {
		return c, nil
	}
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return c, fmt.Errorf("embedded nats: listen address %q: %w", c.Listen, err)
	}
	if c.Password == "" && !loopback(host) {
		return c, fmt.Errorf("embedded nats: %q is reachable from other machines: set a password or listen on loopback", c.Listen)
	}
	return c, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// options are the server's options, except for the listener.
func (c Config) options() (*server.Options, error) {
	password, noAuthUser := c.Password, ""
	if password == "" {
		password, noAuthUser = "unused", "no_auth_user: "+user
	}
	opts := &server.Options{}
	err := opts.ProcessConfigString(strings.Join([]string{
		"server_name: fleetglass",
		"max_payload: " + strconv.Itoa(maxPayload),
		fmt.Sprintf("jetstream { store_dir: %q, max_memory_store: %d, max_file_store: %d, sync_interval: 10s }", c.Dir, maxMemory, c.MaxFile),
		fmt.Sprintf("accounts { %s { jetstream: enabled, users: [ { user: %s, password: %q } ]\n%s\n} }",
			account, user, password, c.Contract.SelfImport(account)),
		noAuthUser,
	}, "\n"))
	if err != nil {
		return nil, fmt.Errorf("embedded nats: configuration: %w", err)
	}
	opts.MaxConn = c.MaxConnections
	opts.JetStreamLimits.DefaultMaxConsumers = -1 // Each agent has a consumer on TASKS, and the server's default is 1,000 of a stream.
	opts.NoSigs, opts.NoLog, opts.DontListen = true, true, true
	return opts, nil
}
