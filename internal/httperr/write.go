package httperr

import (
	"encoding/json"
	"log/slog"
	"net/http"
)

// Write answers a request with the problem document of err. Nothing may have been written before.
func Write(w http.ResponseWriter, r *http.Request, log *slog.Logger, err error) {
	p := From(err)
	Log(r, log, p)
	h := w.Header()
	for name, values := range p.header {
		h[name] = values
	}
	h.Del("Content-Length")
	h.Del("Content-Disposition")
	h.Set("Content-Type", ContentType)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(p.Status)
	if r.Method == http.MethodHead {
		return
	}
	_ = json.NewEncoder(w).Encode(p) // The client went away: nobody is left to tell.
}

// Log tells operators what users do not see: the cause of a failure of ours. Requests that are wrong are logged for debugging only.
func Log(r *http.Request, log *slog.Logger, p *Problem) {
	level := slog.LevelDebug
	if p.Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	log.LogAttrs(r.Context(), level, "request failed",
		slog.String("method", r.Method), slog.String("path", r.URL.EscapedPath()), slog.Int("status", p.Status),
		slog.String("code", string(p.Code)), slog.String("error", p.Error()))
}
