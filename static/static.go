// Package static holds what browsers fetch beside the pages: one stylesheet, one icon sprite and a few small scripts, embedded in
// the program. Their addresses carry a hash of their content, so that browsers may keep them for ever.
package static

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
)

//go:embed css/*.css js/*.js vendor/*.js icons.svg favicon.svg
var files embed.FS

// Prefix is the path under which [Assets.Handler] expects to be mounted.
const Prefix = "/static/"

// stylesheet is the name of the joined stylesheet.
const stylesheet = "fleetglass.css"

// Comments are for who reads the source: browsers need not fetch them. A comment of a script stands on lines of its own; these stay, empty, so
// that a browser names the lines of the source.
var (
	styleComment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	scriptComment = regexp.MustCompile(`(?m)^[ \t]*(//.*|/\*\*.*\*/)$`)
)

// Assets are the embedded files, hashed and compressed once.
type Assets struct {
	base  string // Such as /static/3f2a…/.
	files map[string]asset
}

type asset struct {
	contentType string
	plain       []byte
	gzipped     []byte
}

// New joins, hashes and compresses the embedded files. It errors only when the program was built wrongly.
func New() (*Assets, error) {
	a := &Assets{files: map[string]asset{}}
	packer, err := gzip.NewWriterLevel(nil, gzip.BestCompression) // One for all files, because it has 800 kB.
	if err != nil {
		return nil, err
	}
	var css bytes.Buffer
	sum := sha256.New()
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(body))
		_, _ = sum.Write(body)
		if strings.HasPrefix(name, "css/") { // WalkDir visits in order of names, which is the order of the layers.
			_, _ = css.Write(body)
			return nil
		}
		if strings.HasPrefix(name, "js/") {
			body = scriptComment.ReplaceAll(body, nil)
		}
		return a.add(packer, name, body)
	})
	if err != nil {
		return nil, fmt.Errorf("read embedded assets: %w", err)
	}
	if err := a.add(packer, stylesheet, styleComment.ReplaceAll(css.Bytes(), nil)); err != nil {
		return nil, err
	}
	a.base = Prefix + hex.EncodeToString(sum.Sum(nil))[:12] + "/"
	return a, nil
}

func (a *Assets) add(w *gzip.Writer, name string, body []byte) error {
	var packed bytes.Buffer
	w.Reset(&packed)
	if _, err := w.Write(body); err != nil {
		return fmt.Errorf("compress %s: %w", name, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("compress %s: %w", name, err)
	}
	a.files[name] = asset{contentType: contentType(name), plain: body, gzipped: packed.Bytes()}
	return nil
}

func contentType(name string) string {
	switch path.Ext(name) {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// URL is the address of an asset, such as "js/app.js". Scripts import each other by relative addresses, which stay within the
// hash.
func (a *Assets) URL(name string) string { return a.base + name }

// Handler serves the assets under [Prefix]. An address with another hash is answered with the current content, but not kept: a page
// that is older than the program still works.
func (a *Assets) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, Prefix), "/")
		f, ok := a.files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", f.contentType)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Vary", "Accept-Encoding")
		h.Set("Cache-Control", "no-cache")
		if strings.HasPrefix(r.URL.Path, a.base) {
			h.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		body := f.plain
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			h.Set("Content-Encoding", "gzip")
			body = f.gzipped
		}
		h.Set("Content-Length", fmt.Sprint(len(body)))
		if r.Method != http.MethodHead {
			_, _ = w.Write(body)
		}
	})
}
