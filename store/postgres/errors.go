package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// wrap adds the operation to an error, and gives it the sentinel that callers branch on.
func (s *Store) wrap(operation string, err error) error {
	switch {
	case err == nil:
		return nil
	case s.closed.Load():
		return fmt.Errorf("%s: %w", operation, lifecycle.ErrClosed)
	case errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("%s: %w", operation, lifecycle.ErrNotFound)
	case isUnable(err):
		return fmt.Errorf("%s in postgres: %w: %w", operation, lifecycle.ErrUnable, err)
	}
	return fmt.Errorf("%s in postgres: %w", operation, err)
}

// errOvertaken says that another transaction changed what this one had read before it held the locks.
var errOvertaken = errors.New("overtaken by another transaction")

const maxTries = 20

// retry runs f until it succeeds, fails for good, or has failed maxTries times because of other transactions or a broken connection.
func retry(ctx context.Context, f func() error) error {
	for try := 1; ; try++ {
		err := f()
		if err == nil || try == maxTries || ctx.Err() != nil || !passing(err) {
			return err
		}
		if isBroken(err) && try > 2 { // The pool may have held more than one dead connection; a database that is away is not waited for.
			return err
		}
		pause := time.NewTimer(rand.N(time.Duration(try) * 5 * time.Millisecond))
		select {
		case <-ctx.Done():
			pause.Stop()
			return err
		case <-pause.C:
		}
	}
}

// errInUse says that somebody uses a table for so long that its partitions could not be changed.
var errInUse = errors.New("somebody uses the table for long, such as a backup: its partitions are changed later")

// inUse names a lock that was not got in time as what it is. It is not tried again at once.
func inUse(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "55P03" {
		return errInUse
	}
	return err
}

// passing reports whether the same transaction may succeed when it is run again.
func passing(err error) bool {
	if errors.Is(err, errOvertaken) || isBroken(err) {
		return true
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code {
	case "40001", "40P01", "55P03": // Serialization failure, deadlock, lock timeout.
		return true
	case "23514": // A row meant for the default partition met a partition that was attached meanwhile.
		return true
	case "23505", "42P07", "42710": // Another program created the same thing at the same moment.
		return true
	}
	return false
}

// isUnable reports whether an error is about the server or the connection to it, and not about the statement: classes 08 (connection), 53
// (resources, a full disk among them), 57 (operator) and 58 (system) of the server's codes.
func isUnable(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return slices.Contains([]string{"08", "53", "57", "58"}, pg.Code[:min(2, len(pg.Code))])
	}
	var refused *pgconn.ConnectError
	return errors.As(err, &refused) || isBroken(err)
}

// isBroken reports whether the connection was lost under way. A database that refuses connections is not meant.
func isBroken(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "57P01" || pg.Code == "57P02" // Shut down by the administrator; crash of another process.
	}
	var refused *pgconn.ConnectError
	if errors.As(err, &refused) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	var network *net.OpError
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		pgconn.SafeToRetry(err)
}
