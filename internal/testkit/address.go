package testkit

import (
	"errors"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
)

// addresses counts what FreeAddress tried: no address is given out twice.
var addresses atomic.Int64

// FreeAddress is a loopback address with a port at which nobody listens, for a server whose address must be known before it starts, or that
// starts again at its own. The port is none of those that the system gives out by itself, so nobody takes it while its owner is away. It is found by
// a call that is refused: a listener of our own could live on for a moment in a child that another test starts just then.
func FreeAddress(t testing.TB) string {
	t.Helper()
	for range 1000 {
		address := "127.0.0.1:" + strconv.Itoa(int(10_000+(int64(os.Getpid())*7+addresses.Add(1)*13)%20_000))
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return address
		case err != nil:
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	t.Fatal("no free address")
	return ""
}
