package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"fleetglass/client"
	"fleetglass/lifecycle"
)

// remote is what every command has in common that asks a running server. Its token is that of --token.
type remote struct {
	Server string `also:"FLEETGLASS_SERVER" placeholder:"URL" help:"Address of the server to ask, such as https://fleetglass.example.org. FLEETGLASS_SERVER sets it too. Without it: the address of --listen."`
	Output string `short:"o" enum:"table,json" default:"table" help:"Form of the answer: table, or json as the API sends it."`
}

// Validate refuses an address that no server can have.
func (r remote) Validate() error { return checkServer(r.Server) }

func checkServer(address string) error {
	if address == "" {
		return nil
	}
	_, err := client.New(client.Config{Server: address})
	return err
}

func (r remote) client(l *loaded) (*client.Client, error) {
	server := r.Server
	if server == "" {
		server = "http://" + askedAt(l.cli.Listen)
		if l.cli.TLSCert != "" {
			server = "https://" + askedAt(l.cli.Listen)
		}
	}
	return client.New(client.Config{Server: server, Token: l.cli.Token.Reveal()})
}

// askedAt is where a server that listens on an address is asked on its own machine.
func askedAt(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return listen
}

// show asks for a path and prints the answer: as it came, or as the table that is made of it. Where the answer says nothing of some time, unseen says so below the
// table; an empty table then does not mean that there is nothing.
func show[T any](ctx context.Context, r remote, l *loaded, t *terminal, path string, query url.Values, table func(T) [][]string, unseen ...func(T) string) error {
	c, err := r.client(l)
	if err != nil {
		return err
	}
	raw, err := c.Get(ctx, path, query)
	if err != nil {
		return advised(err)
	}
	if r.Output == "json" {
		_, err := fmt.Fprintln(t.out, strings.TrimSpace(string(raw)))
		return err
	}
	answer, err := client.Decode[T](raw)
	if err != nil {
		return err
	}
	var notes []string
	for _, say := range unseen {
		if note := say(answer); note != "" {
			notes = append(notes, note)
		}
	}
	switch rows := table(answer); {
	case len(rows) > 1:
		if err := writeTable(t.out, rows); err != nil {
			return err
		}
	case len(notes) == 0: // There is only the heading.
		notes = []string{"nothing found"}
	}
	for _, note := range notes {
		if _, err := fmt.Fprintln(t.out, note); err != nil {
			return err
		}
	}
	return nil
}

// advised adds to a question that was not answered what to change: how to say who asks, or which certificate to trust.
func advised(err error) error {
	if p, refused := errors.AsType[*client.Problem](err); refused && p.Status == http.StatusUnauthorized {
		return fmt.Errorf("%w Set the token with FLEETGLASS_TOKEN or --token", err)
	}
	if _, unknown := errors.AsType[x509.UnknownAuthorityError](err); unknown {
		return fmt.Errorf("%w; name the file of that authority with SSL_CERT_FILE", err)
	}
	if _, other := errors.AsType[x509.HostnameError](err); other {
		return fmt.Errorf("%w; ask for one of the names of the certificate, with --server", err)
	}
	return err
}

// writeTable writes rows with aligned columns; the first one is the heading.
func writeTable(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i := range row {
			most := cellWidth
			switch last := i == len(row)-1; {
			case last && len(row) == 2:
				most = factWidth
			case last:
				most = lastWidth
			}
			row[i] = plain(row[i], most)
		}
		if _, err := fmt.Fprintln(w, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}

// How many runes a cell has at most: one with others behind it, the last of a row, and what follows the name of a fact.
const (
	cellWidth = 60
	lastWidth = 160
	factWidth = 1000
)

// plain is a text on one line of a terminal. The fleet's texts are untrusted: a control character could write over what stands above.
func plain(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return '\uFFFD'
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// known is a value, or a dash where it is not known.
func known[T any](v *T) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprint(*v)
}

// ago is how long ago something was, in whole seconds and as pages write it; a dash where that is not known.
func ago(at *time.Time, now time.Time) string {
	if at == nil {
		return "–"
	}
	d := now.Sub(*at).Truncate(time.Second)
	if d <= 0 { // The clock of an agent may be ahead.
		return "now"
	}
	return lifecycle.Lasting(d) + " ago"
}

// until is when something is due, or for how long it has been.
func until(at, now time.Time) string {
	switch d := at.Sub(now).Truncate(time.Second); {
	case d > 0:
		return "in " + lifecycle.Lasting(d)
	case d == 0:
		return "now"
	default:
		return "overdue for " + lifecycle.Lasting(-d)
	}
}

// milliseconds is a span of the API, as pages write it.
func milliseconds(ms int64) string { return lifecycle.Lasting(time.Duration(ms) * time.Millisecond) }

// filterOf is the filter of a list call. Empty values ask for nothing.
func filterOf(words []string, limit int, parts map[string][]string) url.Values {
	v := url.Values{"limit": {fmt.Sprint(limit)}}
	if len(words) > 0 {
		v.Set("q", strings.Join(words, " "))
	}
	for name, values := range parts {
		if len(values) > 0 {
			v[name] = values
		}
	}
	return v
}
