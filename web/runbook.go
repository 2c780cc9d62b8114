package web

import (
	"bytes"
	"fmt"

	"github.com/gin-gonic/gin"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"fleetglass/alerts"
	"fleetglass/docs/runbooks"
	"fleetglass/lifecycle"
	"fleetglass/views"
)

// runbook is what a rule means and what to do about it.
func (w *Web) runbook(c *gin.Context) error {
	id := rest(c, "/runbooks/")
	rule, known := alerts.Defaults().Of(alerts.RuleID(id))
	if !known {
		return fmt.Errorf("runbook %q: %w", id, lifecycle.ErrNotFound)
	}
	source, err := runbooks.Files.ReadFile(id + ".md")
	if err != nil {
		return fmt.Errorf("read the runbook: %w", err)
	}
	var html bytes.Buffer
	if err := runbookPages.Convert(source, &html); err != nil {
		return fmt.Errorf("write the runbook: %w", err)
	}
	snap, err := w.snapshot(c.Request.Context())
	if err != nil {
		return err
	}
	return w.render(c, frame{title: "Runbook: " + rule.Title, section: "alerts", search: true, snapshot: snap, still: true}, views.Runbook(views.RunbookPage{Title: rule.Title, HTML: html.String()}))
}

// runbookPages writes runbooks as pages of a server.
var runbookPages = goldmark.New(goldmark.WithParserOptions(parser.WithASTTransformers(util.Prioritized(served{}, 0))))

// served makes the text of a repository that of a server: an address of it is a link, and a file of the repository, which it does not serve, is none.
type served struct{}

// Transform changes the document.
func (served) Transform(doc *ast.Document, reader text.Reader, _ parser.Context) {
	var addresses []*ast.CodeSpan
	var files []*ast.Link
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.CodeSpan:
			if entering && addressOf(n, reader) != nil {
				addresses = append(addresses, n)
			}
		case *ast.Link:
			if entering && bytes.HasPrefix(n.Destination, []byte("../")) {
				files = append(files, n)
			}
		}
		return ast.WalkContinue, nil
	})
	for _, span := range addresses {
		link := ast.NewLink()
		link.Destination = addressOf(span, reader)
		span.Parent().ReplaceChild(span.Parent(), span, link)
		link.AppendChild(link, span)
	}
	for _, link := range files {
		parent := link.Parent()
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			parent.InsertBefore(parent, link, child)
		}
		parent.RemoveChild(parent, link)
	}
}

// addressOf is the address of this server that a code span holds; nil where it holds another text.
func addressOf(span *ast.CodeSpan, reader text.Reader) []byte {
	if words, ok := span.FirstChild().(*ast.Text); ok && span.ChildCount() == 1 {
		if address := words.Segment.Value(reader.Source()); bytes.HasPrefix(address, []byte("/")) {
			return address
		}
	}
	return nil
}
