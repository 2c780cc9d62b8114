// Package migrate brings a database to the schema that the program expects: numbered SQL files, each applied once and recorded.
// It knows no driver; a store lends it a [Database].
package migrate

import (
	"context"
	"errors"
	"fmt"
)

// Errors that callers branch on.
var (
	ErrNewer   = errors.New("the database was written by a newer version of this program") // Nothing was changed.
	ErrChanged = errors.New("a migration that was applied has changed since")              // Nothing was changed.
)

// Database is what a store lends to be migrated.
type Database interface {
	// Exclusively runs f in one transaction, alone: another program that migrates the same database waits. The transaction is
	// committed when f returns nil, else rolled back.
	Exclusively(ctx context.Context, f func(Session) error) error
}

// Session is the transaction in which migrations run.
type Session interface {
	// Exec runs a script of one or more statements.
	Exec(ctx context.Context, script string) error
	// Records runs a query that yields the columns number, name and checksum.
	Records(ctx context.Context, query string) ([]Record, error)
}

// Record is a migration that was applied.
type Record struct {
	Number   int
	Name     string
	Checksum string // SHA-256 of the file, hex.
}

const (
	createRecords = `CREATE TABLE IF NOT EXISTS schema_migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL)`
	selectRecords = `SELECT number, name, checksum FROM schema_migrations ORDER BY number`
	insertRecord  = `INSERT INTO schema_migrations (number, name, checksum) VALUES (%d, '%s', '%s')`
)

// Run applies those of the files that the database has not seen, in order, all or none, and returns how many that were. It errors
// with ErrNewer when the database has migrations that the program does not know, and with ErrChanged when a file was edited after
// it had been applied.
func Run(ctx context.Context, db Database, files []File) (int, error) {
	applied := 0
	err := db.Exclusively(ctx, func(s Session) error {
		if err := s.Exec(ctx, createRecords); err != nil {
			return fmt.Errorf("create the table of migrations: %w", err)
		}
		records, err := s.Records(ctx, selectRecords)
		if err != nil {
			return fmt.Errorf("read the table of migrations: %w", err)
		}
		if err := check(records, files); err != nil {
			return err
		}
		for _, f := range files[len(records):] {
			if err := apply(ctx, s, f); err != nil {
				return err
			}
			applied++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("migrate: %w", err)
	}
	return applied, nil
}

// check compares what was applied with the program's own files: the records must be a beginning of them.
func check(records []Record, files []File) error {
	for i, r := range records {
		if i >= len(files) || r.Number != files[i].Number {
			return fmt.Errorf("%w: it has migration %d %s, this program knows %d migrations; use the newer program", ErrNewer, r.Number, r.Name, len(files))
		}
		if r.Checksum != files[i].Checksum {
			return fmt.Errorf("%w: %d %s; go on with the program that wrote this database, or begin with an empty one", ErrChanged, r.Number, r.Name)
		}
	}
	return nil
}

func apply(ctx context.Context, s Session, f File) error {
	if err := s.Exec(ctx, f.SQL); err != nil {
		return fmt.Errorf("apply %d %s: %w", f.Number, f.Name, err)
	}
	if err := s.Exec(ctx, fmt.Sprintf(insertRecord, f.Number, f.Name, f.Checksum)); err != nil {
		return fmt.Errorf("record %d %s: %w", f.Number, f.Name, err)
	}
	return nil
}
