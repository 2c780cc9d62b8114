package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
)

const pageSize = 8192 // As writerPragmas says.

// writerPragmas: the page size holds only for a file that is still empty. Synchronous FULL makes a commit durable; in batches it
// costs nothing that can be measured. The writer makes a checkpoint by itself only when [checkpoints] could not keep up.
const writerPragmas = `
PRAGMA page_size = 8192;
PRAGMA journal_mode = wal;
PRAGMA synchronous = FULL;
PRAGMA cache_size = -24576;
PRAGMA temp_store = memory;
PRAGMA wal_autocheckpoint = 8000;
PRAGMA journal_size_limit = 67108864;
`

const readerPragmas = `
PRAGMA query_only = 1;
PRAGMA cache_size = -4096;
PRAGMA temp_store = memory;
`

func openWriter(ctx context.Context, path string) (*sqlite.Conn, error) {
	if err := keepPrivate(path); err != nil {
		return nil, err
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(10 * time.Second)
	if err = runScript(conn, writerPragmas); err == nil {
		err = migrateSchema(ctx, conn)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// openConn opens a database that is there.
func openConn(path, pragmas string) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return nil, err
	}
	conn.SetBusyTimeout(10 * time.Second)
	if err := runScript(conn, pragmas); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// runScript runs statements one by one, outside a transaction, which some pragmas need. A comment after
// the last one is not understood.
func runScript(conn *sqlite.Conn, script string) error {
	for script = strings.TrimSpace(script); script != ""; {
		stmt, rest, err := conn.PrepareTransient(script)
		if err != nil {
			return err
		}
		script = strings.TrimSpace(script[len(script)-rest:])
		for more := true; more && err == nil; {
			more, err = stmt.Step()
		}
		if final := stmt.Finalize(); err == nil {
			err = final
		}
		if err != nil {
			return fmt.Errorf("run script: %w", err)
		}
	}
	return nil
}
