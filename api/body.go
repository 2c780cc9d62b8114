package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"fleetglass/internal/httperr"
)

// readBody reads a JSON object with the fields of T and nothing else. form is what the object looks like, for who sent another.
func readBody[T any](r *http.Request, form string) (in T, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return in, readProblem(err)
	}
	return decodeBody[T](r, body, form)
}

// readOptionalBody is [readBody] for calls whose body may be left out: nothing, or blanks.
func readOptionalBody[T any](r *http.Request, form string) (in T, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return in, readProblem(err)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return in, nil
	}
	return decodeBody[T](r, body, form)
}

// decodeBody decodes what was read of a request. The problem names the field that is wrong, where one is.
func decodeBody[T any](r *http.Request, body []byte, form string) (in T, err error) {
	if err := saysJSON(r.Header.Get("Content-Type")); err != nil {
		return in, err
	}
	if err := decodeWhole(body, &in); err != nil {
		p := httperr.New(httperr.InvalidBody, err)
		wrong := wrongFields("", body, reflect.TypeFor[T]())
		if len(wrong) == 0 || wrong[0].Pointer == "" || errors.Is(err, errNotText) {
			return in, p.WithDetail("The body is not a JSON object of the form %s.", form).WithField("/body", "not of the form "+form)
		}
		var details strings.Builder
		for _, w := range wrong {
			p = p.WithField("/body"+w.Pointer, w.Detail)
			details.WriteString(strings.TrimPrefix(w.Pointer, "/") + ": " + w.Detail + ". ")
		}
		return in, p.WithDetail("%sThe body is a JSON object of the form %s.", details.String(), form)
	}
	return in, nil
}

// saysJSON errors where a request says that its body is something else than JSON. No type counts as JSON, and so does that of forms: curl -d sends it
// unasked.
func saysJSON(contentType string) error {
	mediaType, _, err := mime.ParseMediaType(contentType)
	switch {
	case contentType == "", err == nil && (mediaType == "application/json" || mediaType == "application/x-www-form-urlencoded"):
		return nil
	case err == nil && strings.HasPrefix(mediaType, "application/") && strings.HasSuffix(mediaType, "+json"):
		return nil
	}
	return httperr.New(httperr.UnsupportedMediaType, err).WithDetail("Send application/json.").WithField("/header/Content-Type", "must be application/json")
}

// errNotText is a body that is no text. JSON is UTF-8; decoding would replace what is not, and something else than was sent would be kept.
var errNotText = errors.New("not UTF-8")

// decodeWhole decodes one value with known fields and nothing behind it.
func decodeWhole(body []byte, into any) error {
	if !utf8.Valid(body) {
		return errNotText
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// invalidField is the problem of one field of a body.
func invalidField(name, detail string) error {
	return httperr.New(httperr.InvalidBody, nil).WithDetail("%s: %s", name, detail).WithField("/body/"+httperr.Token(name), detail)
}
