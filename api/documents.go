package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/internal/routes"
)

// Where the descriptions of the API are.
const (
	openAPIPath = "/openapi.json"
	docsPath    = "/api/docs"
	stylePath   = "/api/docs.css"
)

// document is a description that does not change while the process runs.
type document struct {
	contentType string
	tag         string
	body        []byte
}

// renderDocuments writes the OpenAPI document and its page.
func (a *API) renderDocuments() (map[string]document, error) {
	spec, err := json.Marshal(a.huma.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("write OpenAPI document: %w", err)
	}
	var page bytes.Buffer
	if err := docsTemplate().Execute(&page, docsOf(a.huma.OpenAPI())); err != nil {
		return nil, fmt.Errorf("write page of the API: %w", err)
	}
	return map[string]document{
		openAPIPath: {"application/json", entityTag(spec), spec},
		docsPath:    {"text/html; charset=utf-8", entityTag(page.Bytes()), page.Bytes()},
		stylePath:   {"text/css; charset=utf-8", entityTag(docsStyle), []byte(docsStyle)},
	}, nil
}

// registerDocuments mounts the descriptions. They are written when somebody first asks, because a start without them does a third less.
func (a *API) registerDocuments(r *routes.Router) {
	documents := sync.OnceValues(a.renderDocuments)
	for _, path := range []string{openAPIPath, docsPath, stylePath} {
		r.Get(path, access.Read, func(c *gin.Context) {
			all, err := documents()
			if err != nil {
				httperr.Write(c.Writer, c.Request, a.cfg.Log, err)
				return
			}
			all[path].serve(c)
		})
	}
}

func (d document) serve(c *gin.Context) {
	h := c.Writer.Header()
	h.Set("Content-Type", d.contentType)
	h.Set("ETag", d.tag)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Content-Type-Options", "nosniff")
	if matches(c.Request.Header.Values("If-None-Match"), d.tag) {
		c.Writer.WriteHeader(http.StatusNotModified)
		return
	}
	c.Writer.WriteHeader(http.StatusOK)
	if c.Request.Method != http.MethodHead {
		_, _ = c.Writer.Write(d.body) // The client went away: nobody is left to tell.
	}
}
