package postgres

import (
	"io"
	"net"
	"path/filepath"
	"testing"

	"fleetglass/internal/testkit"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
)

func TestAPoolerInBetweenIsNoticed(t *testing.T) {
	t.Parallel()
	config, err := pgx.ParseConfig(testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := pooled(t.Context(), config); err != nil || got {
		t.Errorf("the database itself: pooled %v, %v; want false", got, err)
	}
	config.Host, config.Port = pooler(t, filepath.Join(config.Host, ".s.PGSQL.5432"))
	if got, err := pooled(t.Context(), config); err != nil || !got {
		t.Errorf("through a pooler: pooled %v, %v; want true", got, err)
	}
}

// pooler passes one connection on, and names a process of its own as poolers do.
func pooler(t *testing.T, socket string) (host string, port uint16) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		client, err := l.Accept()
		if err != nil {
			return
		}
		defer client.Close() //nolint:errcheck // The end of the test.
		server, err := net.Dial("unix", socket)
		if err != nil {
			return
		}
		defer server.Close()       //nolint:errcheck // The end of the test.
		go io.Copy(server, client) //nolint:errcheck // Until either side closes.
		relay(server, client, 987654)
	}()
	address := l.Addr().(*net.TCPAddr)
	return "127.0.0.1", uint16(address.Port)
}

// relay passes messages of the server on and puts another process into the one that names it.
func relay(server io.Reader, client io.Writer, process uint32) {
	messages := pgproto3.NewFrontend(server, nil)
	for {
		m, err := messages.Receive()
		if err != nil {
			return
		}
		if key, ok := m.(*pgproto3.BackendKeyData); ok {
			key.ProcessID = process
		}
		out, err := m.Encode(nil)
		if err != nil {
			return
		}
		if _, err := client.Write(out); err != nil {
			return
		}
	}
}
