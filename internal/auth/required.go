package auth

import "net/http"

// Required lists the scopes of which a request needs one; none means that it is open to everybody. Only the liveness probe is open.
func Required(r *http.Request) []Scope {
	switch {
	case r.URL.Path == "/healthz":
		return nil
	case r.Method == http.MethodGet, r.Method == http.MethodHead, r.Method == http.MethodOptions:
		return []Scope{Read}
	case r.Method == http.MethodPost && r.URL.Path == "/api/v1/reports":
		return []Scope{Report, Admin}
	}
	return []Scope{Admin}
}
