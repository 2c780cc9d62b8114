package sqlite_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"fleetglass/lifecycle"
	"fleetglass/store/sqlite"
	"fleetglass/store/storetest"

	driver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

var aging = storetest.Aging{
	Victim: storetest.Victim{
		Create: func(t testing.TB) string { return filepath.Join(t.TempDir(), "store.db") },
		Open: func(ctx context.Context, address string, step func()) (storetest.Store, error) {
			s, err := sqlite.Open(ctx, sqlite.Config{Path: address, Trace: step})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	},
	Age: age,
}

func TestUpgrade(t *testing.T) { storetest.Upgrade(t, aging) }

func TestKillUpgrade(t *testing.T) { storetest.KillUpgrade(t, aging) }

// age writes rows as an older version of the rules would have left them.
func age(t testing.TB, path string, version int) {
	t.Helper()
	script := fmt.Sprintf(`UPDATE fold_version SET version = %[1]d, target = %[1]d, last_task = 0, end_task = 0, judged = 0;
DELETE FROM rollups_next;
UPDATE tasks SET fold = %[1]d, state = 'exhausted', agent = 'nobody', anomalies = '', summary = x'', duplicates = 9;
UPDATE messages SET open = 0, publisher = '', given = 0;
DELETE FROM entries;
DELETE FROM follow_ups;
UPDATE rollups SET n = n + 7;
INSERT INTO rollups VALUES ('state', 0, 'nobody', 'exhausted', 3) ON CONFLICT DO NOTHING;`, version)
	if version < lifecycle.FactsVersion {
		script += `UPDATE messages SET facts = x'ff'; UPDATE tasks SET facts = x'ff';`
	}
	conn, err := driver.OpenConn(path, driver.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		t.Fatal(err)
	}
}
