package postgres

import (
	"context"
	"sync"

	"fleetglass/lifecycle"

	"github.com/jackc/pgx/v5"
)

// labelNames remembers the names in labels that are counted apart. Names never lose their places, so what is remembered stays true; other programs may have given more.
type labelNames struct {
	mu     sync.RWMutex
	places lifecycle.NamePlaces
}

// bound gives the tallies their labels, where no name could get a place.
func (l *labelNames) bound(tallies []lifecycle.Tally) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.places.Lacking(tallies...)) > 0 {
		return false
	}
	boundBy(&l.places, tallies)
	return true
}

func boundBy(places *lifecycle.NamePlaces, tallies []lifecycle.Tally) {
	for i, t := range tallies {
		tallies[i] = places.Bound(t)
	}
}

func (l *labelNames) learn(names map[lifecycle.NameGroup][]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places.Trim()
	for g, known := range names {
		l.places.Learn(g, known...)
	}
}

const (
	takeLabelNamesTurn = `SELECT id FROM label_names_turn FOR UPDATE`
	selectLabelNames   = `SELECT n.kind, n.agent, n.name FROM label_names n
JOIN unnest($1::text[], $2::bytea[]) AS g (kind, agent_id) ON n.kind = g.kind AND n.agent_id = g.agent_id`
	insertLabelNames = `INSERT INTO label_names (kind, agent_id, name_id, agent, name)
SELECT * FROM unnest($1::text[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[])`
)

// bounded are the tallies, which are replaced, with the labels of the names that have places. Names that come while there are places get them: one transaction at a time
// gives places, until its end, so that no two take the last one. It is called once in a transaction. What was queued is sent before, so that only the rollups are locked
// later.
func (s *Store) bounded(ctx context.Context, tx pgx.Tx, writes *pgx.Batch, tallies ...lifecycle.Tally) ([]lifecycle.Tally, error) {
	if s.names.bound(tallies) {
		return tallies, nil
	}
	if err := send(ctx, tx, writes); err != nil {
		return nil, err
	}
	*writes = pgx.Batch{}
	groups := lifecycle.NameGroups(tallies...)
	names, err := labelNamesOf(ctx, tx, groups)
	if err != nil {
		return nil, err
	}
	s.names.learn(names) // Only what is committed: the new names of this transaction may come to nothing.
	var places lifecycle.NamePlaces
	for g, known := range names {
		places.Learn(g, known...)
	}
	if err := insertNames(ctx, tx, places.Give(tallies...)); err != nil {
		return nil, err
	}
	boundBy(&places, tallies)
	return tallies, nil
}

// labelNamesOf waits for its turn and reads the names of the groups.
func labelNamesOf(ctx context.Context, tx pgx.Tx, groups []lifecycle.NameGroup) (map[lifecycle.NameGroup][]string, error) {
	if _, err := tx.Exec(ctx, takeLabelNamesTurn); err != nil {
		return nil, err
	}
	names := make(map[lifecycle.NameGroup][]string, len(groups))
	var kinds []string
	var agents [][]byte
	for _, g := range groups {
		names[g] = nil
		kinds, agents = append(kinds, string(g.Kind)), append(agents, digest(g.Agent)[:16])
	}
	rows, err := tx.Query(ctx, selectLabelNames, kinds, agents)
	if err != nil {
		return nil, err
	}
	var kind string
	var agent, name []byte
	_, err = pgx.ForEachRow(rows, []any{&kind, &agent, &name}, func() error {
		g := lifecycle.NameGroup{Kind: lifecycle.NameKind(kind), Agent: string(agent)}
		names[g] = append(names[g], string(name))
		return nil
	})
	return names, err
}

func insertNames(ctx context.Context, tx pgx.Tx, given []lifecycle.NamePlace) error {
	if len(given) == 0 {
		return nil
	}
	var kinds []string
	var agentIDs, nameIDs, agents, names [][]byte
	for _, p := range given {
		kinds = append(kinds, string(p.Kind))
		agentIDs, nameIDs = append(agentIDs, digest(p.Agent)[:16]), append(nameIDs, digest(p.Name)[:16])
		agents, names = append(agents, []byte(p.Agent)), append(names, []byte(p.Name))
	}
	_, err := tx.Exec(ctx, insertLabelNames, kinds, agentIDs, nameIDs, agents, names)
	return err
}
