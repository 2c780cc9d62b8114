package sqlite

import "fleetglass/lifecycle"

const (
	selectLabelNames = `SELECT name FROM label_names WHERE kind = ? AND agent = ?`
	insertLabelName  = `INSERT INTO label_names (kind, agent, name) VALUES (?, ?, ?)`
)

// bounded is the tally with the labels of the names that have places. Names that come while there are places get them.
func (w *writer) bounded(t lifecycle.Tally) (lifecycle.Tally, error) {
	w.names.Trim()
	lacking := w.names.Lacking(t)
	for _, g := range lacking {
		var known []string
		err := w.statement(selectLabelNames).text(string(g.Kind)).text(g.Agent).each(func(r *statement) error {
			known = append(known, r.getText())
			return nil
		})
		if err != nil {
			return nil, err
		}
		w.names.Learn(g, known...)
	}
	if len(lacking) > 0 {
		for _, p := range w.names.Give(t) {
			if err := w.statement(insertLabelName).text(string(p.Kind)).text(p.Agent).text(p.Name).exec(); err != nil {
				return nil, err
			}
		}
	}
	return w.names.Bound(t), nil
}
