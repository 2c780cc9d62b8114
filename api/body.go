package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"fleetglass/internal/httperr"
)

// readBody reads a JSON object with the fields of T and nothing else. form is what the object looks like, for who sent another.
func readBody[T any](r *http.Request, form string) (T, error) {
	var in T
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return in, readProblem(err)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err = d.Decode(&in)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("more than one value")
		}
	}
	if err != nil {
		return in, httperr.New(httperr.InvalidBody, err).WithDetail("The body is not a JSON object of the form %s.", form).WithField("/body", "not of the form "+form)
	}
	return in, nil
}

// invalidField is the problem of one field of a body.
func invalidField(name, detail string) error {
	return httperr.New(httperr.InvalidBody, nil).WithDetail("%s: %s", name, detail).WithField("/body/"+httperr.Token(name), detail)
}
