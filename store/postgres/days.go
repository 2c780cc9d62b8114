package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

// day counts from 1970-01-01 UTC.
type day int32

const microsOfDay = lifecycle.Micros(24 * time.Hour / time.Microsecond)

func dayOf(at lifecycle.Micros) day {
	d := at / microsOfDay
	if at%microsOfDay < 0 {
		d--
	}
	return day(d)
}

func (d day) begin() lifecycle.Micros { return lifecycle.Micros(d) * microsOfDay }
func (d day) end() lifecycle.Micros   { return d.begin() + microsOfDay }

// partition is the name of the day's partition of a table.
func (d day) partition(table string) string {
	return table + "_" + time.Unix(int64(d)*86400, 0).UTC().Format("20060102")
}

// dayTable remembers which days have partitions. One that another program drops stays remembered; its late events then go to the
// default partition, as those of all days without one.
type dayTable struct {
	mu     sync.Mutex
	known  map[day]bool
	paused lifecycle.Micros // Nobody tries to make one before; zero for at once.
}

func (t *dayTable) forget(d day) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, d)
}

// partitioned lists the tables that are cut by day, in the order in which everybody locks them.
func partitioned() []string { return []string{"events", "payloads"} }

// openAgain is how long nobody tries again to make a partition while a table is in use: each try makes all others wait for it.
const openAgain = time.Minute

// openDays makes partitions for the days of the batch and for the next day, in transactions of their own. Clocks of agents may be years off: only days of
// the kept history and the next day get one. The next day's is made a day before it is needed: while somebody uses the tables for long, as a backup does, none
// can be made. What then belongs to a day without one goes to the default partition, and moves over later.
func (s *Store) openDays(ctx context.Context, b lifecycle.Batch) error {
	s.days.mu.Lock()
	defer s.days.mu.Unlock()
	now := lifecycle.MicrosOf(s.now())
	if now < s.days.paused {
		return nil
	}
	first, last := dayOf(now.Add(-s.history)), dayOf(now)+1
	var missing []day
	looked := first - 1 // The day of the time before, which most often is that of the next.
	note := func(at lifecycle.Micros) {
		if at >= looked.begin() && at < looked.end() {
			return
		}
		looked = dayOf(at)
		if d := looked; at >= first.begin() && at < last.end() && !s.days.known[d] && !slices.Contains(missing, d) {
			missing = append(missing, d)
		}
	}
	for i := range b.Events {
		note(b.Events[i].At)
	}
	for i := range b.Payloads {
		note(b.Payloads[i].At)
	}
	note(last.begin())
	for _, d := range missing {
		err := s.openDay(ctx, d)
		if errors.Is(err, errInUse) {
			s.days.paused = now.Add(openAgain)
			return nil
		}
		if err != nil {
			return fmt.Errorf("make partitions: %w", err)
		}
		if s.days.known == nil {
			s.days.known = map[day]bool{}
		}
		s.days.known[d] = true
	}
	return nil
}

// waitBriefly bounds how long the transaction waits for a table. Meanwhile all others wait behind it, those who only read too.
const waitBriefly = `SET LOCAL lock_timeout = '1s'`

const (
	insertDay = `INSERT INTO days (day) VALUES ($1) ON CONFLICT DO NOTHING`

	// The parent is locked first by whoever adds or drops partitions, against everybody: the database does not notice when a partition is attached while
	// a connection lists them. That connection would go on with the list of before. What had gone to the default partition moves over.
	attachDay = waitBriefly + `;
LOCK TABLE ONLY %[1]s IN ACCESS EXCLUSIVE MODE;
LOCK TABLE %[1]s_default IN ACCESS EXCLUSIVE MODE;
CREATE TABLE %[2]s (LIKE %[1]s INCLUDING ALL);
WITH early AS (DELETE FROM %[1]s_default WHERE at >= %[3]d AND at < %[4]d RETURNING *) INSERT INTO %[2]s SELECT * FROM early;
ALTER TABLE %[1]s ATTACH PARTITION %[2]s FOR VALUES FROM (%[3]d) TO (%[4]d)`
)

// openDay makes the partitions of a day unless they exist. A second program that does so waits at the row of the day.
func (s *Store) openDay(ctx context.Context, d day) error {
	return s.inTransaction(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, insertDay, int32(d))
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		for _, table := range partitioned() {
			script := fmt.Sprintf(attachDay, table, d.partition(table), d.begin(), d.end())
			if _, err := tx.Exec(ctx, script, pgx.QueryExecModeSimpleProtocol); err != nil {
				return inUse(err)
			}
		}
		return nil
	})
}
