package requestkey

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"
)

// Replayed is the header of a reply that was kept.
const Replayed = "Idempotency-Replayed"

// reply is what is kept of an answer.
type reply struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header"`
	Body   []byte            `json:"body"`
}

// keptHeaders are those that belong to the answer itself, and not to the connection or to the time of asking.
var keptHeaders = []string{"Content-Type", "Location", "Link", "ETag", "Cache-Control"}

func readReply(b []byte) (r reply, err error) { return r, json.Unmarshal(b, &r) }

// send answers a repetition.
func (r reply) send(w http.ResponseWriter) {
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set(Replayed, "true")
	w.WriteHeader(r.Status)
	_, _ = w.Write(r.Body) // A client that went away asks again.
}

// recorder holds an answer back until it is kept.
type recorder struct {
	gin.ResponseWriter
	status  int
	body    bytes.Buffer
	nothing bool // The call changed nothing: see [ChangedNothing].
}

// The methods of gin.ResponseWriter that would let something out.

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status > 0 {
		r.status = status
	}
}

func (r *recorder) WriteHeaderNow() { r.WriteHeader(http.StatusOK) }

func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeaderNow()
	return r.body.Write(b)
}

func (r *recorder) WriteString(s string) (int, error) { return r.Write([]byte(s)) }

func (r *recorder) Status() int { return r.status }

func (r *recorder) Size() int { return r.body.Len() }

func (r *recorder) Written() bool { return r.status != 0 }

func (r *recorder) Flush() {}

// succeeded reports whether the call did what it was asked for. Any other answer means that it changed nothing, or that repeating it is safe.
func (r *recorder) succeeded() bool { return r.status >= 200 && r.status < 300 }

// reply is what to keep.
func (r *recorder) reply() reply {
	kept := reply{Status: r.status, Header: map[string]string{}, Body: r.body.Bytes()}
	for _, name := range keptHeaders {
		if v := r.Header().Get(name); v != "" {
			kept.Header[name] = v
		}
	}
	return kept
}

// release lets the answer out.
func (r *recorder) release() {
	if r.status == 0 {
		return // Nothing was answered: gin does.
	}
	r.ResponseWriter.WriteHeader(r.status)
	_, _ = r.ResponseWriter.Write(r.body.Bytes()) // A client that went away asks again.
}
