package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// Codes of JSON-RPC 2.0.
const (
	parseError     = -32700
	invalidRequest = -32600
	methodNotFound = -32601
)

// rpcError is an answer of JSON-RPC that says why there is no result.
type rpcError struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // Of the request; null where it is not known.
	Error   struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// write answers with the error.
func (e *rpcError) write(w http.ResponseWriter, status int) {
	e.JSONRPC = "2.0"
	text, _ := json.Marshal(e) // Texts and a number that was read as JSON.
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	_, _ = w.Write(text) // A client that went away asks again.
}

func newRPCError(id json.RawMessage, code int, format string, args ...any) *rpcError {
	e := &rpcError{ID: id}
	e.Error.Code, e.Error.Message = code, fmt.Sprintf(format, args...)
	return e
}

// speakJSONRPC makes errors of JSON-RPC of what next refuses in plain text, and refuses what JSON-RPC does not know as a message.
func speakJSONRPC(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), ending{err}))
		m, wrong := readMessage(body)
		if wrong != nil && err == nil && isJSON(r) {
			wrong.write(w, http.StatusBadRequest)
			return
		}
		answer := &refusals{ResponseWriter: w}
		next.ServeHTTP(answer, r)
		answer.translate(m)
	})
}

// ending is a reader of nothing that ends as the body before it ended.
type ending struct{ err error }

// Read implements io.Reader.
func (e ending) Read([]byte) (int, error) {
	if e.err == nil {
		return 0, io.EOF
	}
	return 0, e.err
}

func isJSON(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// message is what a refusal needs of a message.
type message struct {
	id     json.RawMessage // Nil for none: a notification, a batch, or no message at all.
	method string
}

// readMessage errors where a body is no message of JSON-RPC. What is in a batch is not looked at.
func readMessage(body []byte) (m message, wrong *rpcError) {
	if !json.Valid(body) {
		return m, newRPCError(nil, parseError, "Parse error: the body is not JSON")
	}
	var members map[string]json.RawMessage
	if text := bytes.TrimLeft(body, " \t\r\n"); text[0] == '[' {
		if len(bytes.Trim(text[1:], " \t\r\n]")) == 0 {
			return m, newRPCError(nil, invalidRequest, "Invalid request: the batch is empty")
		}
		return m, nil
	}
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return m, newRPCError(nil, invalidRequest, "Invalid request: the body is not an object")
	}
	var why error
	m, why = readMembers(members)
	if why != nil {
		return m, newRPCError(m.id, invalidRequest, "Invalid request: %s", why)
	}
	return m, nil
}

func readMembers(members map[string]json.RawMessage) (m message, why error) {
	if id := bytes.TrimSpace(members["id"]); len(id) > 0 && strings.IndexByte("{[tfn", id[0]) < 0 {
		m.id = id
	}
	var version string
	if json.Unmarshal(members["jsonrpc"], &version) != nil || version != "2.0" {
		return m, errors.New(`jsonrpc must be "2.0"`)
	}
	method, calls := members["method"]
	if calls {
		if json.Unmarshal(method, &m.method) != nil || m.method == "" {
			return m, errors.New("method must be a text")
		}
		return m, nil
	}
	if members["result"] == nil && members["error"] == nil {
		return m, errors.New("it has no method")
	}
	return m, nil
}

// refusals holds an answer in plain text that refuses something back, and lets every other answer pass.
type refusals struct {
	http.ResponseWriter
	status int // Of the refusal; zero for none.
	text   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (w *refusals) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *refusals) Write(b []byte) (int, error) {
	if w.status > 0 {
		return w.text.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w *refusals) Flush() {
	if w.status == 0 {
		_ = http.NewResponseController(w.ResponseWriter).Flush() // What cannot be flushed comes at the end.
	}
}

// Unwrap is for http.ResponseController.
func (w *refusals) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// notHandled is how the library begins its refusal of a method that it does not know.
const notHandled = "JSON RPC not handled"

// translate answers with what was held back. That a method is unknown is an answer to its request like any other, so the status is 200.
func (w *refusals) translate(m message) {
	switch text := strings.TrimSpace(w.text.String()); {
	case w.status == 0:
	case !strings.HasPrefix(text, notHandled):
		newRPCError(m.id, invalidRequest, "%s", text).write(w.ResponseWriter, w.status)
	case m.id == nil: // Nobody waits for an answer by an id.
		newRPCError(nil, methodNotFound, "Method not found: %s", m.method).write(w.ResponseWriter, w.status)
	default:
		newRPCError(m.id, methodNotFound, "Method not found: %s", m.method).write(w.ResponseWriter, http.StatusOK)
	}
}
