package postgres_test

import (
	"context"
	"fmt"
	"testing"

	"fleetglass/internal/testkit"
	"fleetglass/lifecycle"
	"fleetglass/store/postgres"
	"fleetglass/store/storetest"

	"github.com/jackc/pgx/v5"
)

var aging = storetest.Aging{
	Victim: storetest.Victim{
		Create: func(t testing.TB) string { return testkit.Postgres(t) },
		Open: func(ctx context.Context, address string, step func()) (storetest.Store, error) {
			s, err := postgres.Open(ctx, postgres.Config{URL: address, Tracer: tracer(step)})
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	},
	Age: age, Shared: true,
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	storetest.Upgrade(t, aging)
}

func TestKillUpgrade(t *testing.T) { storetest.KillUpgrade(t, aging) }

// age writes rows as an older version of the rules would have left them.
func age(t testing.TB, url string, version int) {
	t.Helper()
	script := fmt.Sprintf(`UPDATE fold_version SET version = %[1]d, target = %[1]d, last_task = 0, end_task = 0, judged = 0;
DELETE FROM rollups_next;
UPDATE tasks SET fold = %[1]d, state = 'exhausted', agent = 'nobody', anomalies = '', summary = '', duplicates = 9;
UPDATE messages SET open = false, publisher = '', given = 0;
DELETE FROM entries;
DELETE FROM follow_ups;
UPDATE rollups SET n = n + 7;
INSERT INTO rollups VALUES ('state', 0, 'digest', 'nobody', 'exhausted', 3) ON CONFLICT DO NOTHING;`, version)
	if version < lifecycle.FactsVersion {
		script += `UPDATE messages SET facts = '\xff'; UPDATE tasks SET facts = '\xff';`
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // The script's own error matters.
	if _, err := conn.Exec(t.Context(), script, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}
