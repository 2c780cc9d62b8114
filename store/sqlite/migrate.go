package sqlite

import (
	"context"
	"embed"

	"fleetglass/store/internal/migrate"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrateSchema brings the file to the schema of this program.
func migrateSchema(ctx context.Context, conn *sqlite.Conn) error {
	files, err := migrate.Read(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	_, err = migrate.Run(ctx, migratable{conn}, files)
	return err
}

// migratable lends a connection to package migrate.
type migratable struct{ conn *sqlite.Conn }

// Exclusively implements [migrate.Database].
func (m migratable) Exclusively(_ context.Context, f func(migrate.Session) error) (err error) {
	end, err := sqlitex.ImmediateTransaction(m.conn)
	if err != nil {
		return err
	}
	defer end(&err)
	return f(m)
}

// Exec implements [migrate.Session].
func (m migratable) Exec(_ context.Context, script string) error { return runScript(m.conn, script) }

// Records implements [migrate.Session].
func (m migratable) Records(_ context.Context, query string) ([]migrate.Record, error) {
	var out []migrate.Record
	err := prepare(m.conn, query).each(func(r *statement) error {
		out = append(out, migrate.Record{Number: int(r.getInt()), Name: r.getText(), Checksum: r.getText()})
		return nil
	})
	return out, err
}

// SchemaVersion is the number of the newest migration, which every database has that Open opened.
func SchemaVersion() int {
	files, err := migrate.Read(migrationFiles, "migrations")
	if err != nil || len(files) == 0 {
		return 0
	}
	return files[len(files)-1].Number
}
