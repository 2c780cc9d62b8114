package embednats

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// listenOn sets the listener of opts: the wanted address, or the same host with the next free port.
func listenOn(opts *server.Options, address string) error {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	wanted, err := strconv.Atoi(portText)
	if err != nil || wanted < 0 || wanted > 65535 {
		return fmt.Errorf("listen address %q: not a port", address)
	}
	opts.DontListen, opts.Host, opts.Port = false, host, server.RANDOM_PORT
	if wanted == 0 {
		return nil
	}
	for port := wanted; port < wanted+triedPorts && port <= 65535; port++ {
		if err = portFree(host, port); err == nil {
			opts.Port = port
			return nil
		}
	}
	return fmt.Errorf("no free port from %d on: %w", wanted, err)
}

// portFree tries the port. Somebody else may still take it before the server does, which then does not become ready.
func portFree(host string, port int) error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return l.Close()
}
