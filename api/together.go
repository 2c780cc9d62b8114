package api

import "fleetglass/internal/httperr"

// together is the problem of all that is wrong with the parts of a request; nil where nothing is. The code is that of the first. An error that names no part
// stands alone.
func together(errs ...error) error {
	var all *httperr.Problem
	for _, err := range errs {
		if err == nil {
			continue
		}
		p := httperr.From(err)
		switch {
		case len(p.Errors) == 0:
			return err
		case all == nil:
			all = p
		default:
			all = all.And(p)
		}
	}
	if all == nil {
		return nil
	}
	return all
}
