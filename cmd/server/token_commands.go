package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"fleetglass/access"
)

// tokenCmd is what is done with tokens by hand. A running server takes the changed file within seconds.
type tokenCmd struct {
	Create createTokenCmd `cmd:"" default:"withargs" help:"Make a token and show it once. Its entry goes into --auth-tokens-file, which is made where it is missing, or to standard output."`
	List   listTokensCmd  `cmd:"" help:"List the tokens of --auth-tokens-file."`
	Revoke revokeTokenCmd `cmd:"" help:"Remove a token from --auth-tokens-file."`
}

type createTokenCmd struct {
	Name      string         `required:"" placeholder:"NAME" help:"Who uses the token. The audit shows it."`
	Scopes    []access.Scope `default:"read" placeholder:"SCOPE" help:"What the token may do: read, metrics, report, triage:propose, triage:apply, triage:discard, admin."`
	Agent     []string       `placeholder:"AGENT" help:"With scope report: the only agents that it may report for. Without any it reports in its own name."`
	ExpiresIn Duration       `default:"365d" placeholder:"TIME" help:"How long the token is valid; 0s for ever."`
}

// Run prints a new token on the terminal and keeps its entry.
func (c createTokenCmd) Run(l *loaded, t *terminal) error {
	var expires time.Time
	if c.ExpiresIn > 0 {
		expires = time.Now().Add(time.Duration(c.ExpiresIn)).UTC().Truncate(time.Second)
	}
	text, entry := access.NewToken(c.Name, c.Scopes, expires)
	entry.Agents = c.Agent
	if err := entry.Validate(); err != nil {
		return err
	}
	name := l.cli.TokensFile
	if name != "" {
		made, err := changeTokens(name, func(file []byte) ([]byte, error) { return access.AddToken(file, entry) })
		if err != nil {
			return err
		}
		where := name
		if made { // A name that was mistyped shows.
			where += ", a new file that only its owner can read"
		}
		_, err = fmt.Fprintf(t.err, "The token, shown only now: %s\n\nIts entry is in %s.\n", text, where)
		return err
	}
	file, err := access.Marshal(entry)
	if err != nil {
		return fmt.Errorf("write the entry: %w", err)
	}
	if _, err := fmt.Fprintf(t.err, "The token, shown only now: %s\n\nIts entry for --auth-tokens-file:\n", text); err != nil {
		return err
	}
	_, err = t.out.Write(file)
	return err
}

type listTokensCmd struct{}

// Run prints a table of the tokens: never a secret, which nobody has.
func (listTokensCmd) Run(l *loaded, t *terminal) error {
	text, err := tokensText(l)
	if err != nil {
		return err
	}
	tokens, err := access.ParseTokens(text)
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(t.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tMAY\tEXPIRES\tHASH")
	for _, entry := range tokens {
		expires := "never"
		if !entry.Expires.IsZero() {
			expires = entry.Expires.UTC().Format(time.RFC3339)
			if !time.Now().Before(entry.Expires) {
				expires += " (ended)"
			}
		}
		fmt.Fprintf(table, "%q\t%s\t%s\t%s…\n", entry.Name, mayDo(entry), expires, entry.SHA256[:12])
	}
	return table.Flush()
}

// mayDo is the role and the scopes of a token.
func mayDo(t access.Token) string {
	var parts []string
	if t.Role != "" {
		parts = append(parts, "role "+string(t.Role))
	}
	for _, s := range t.Scopes {
		parts = append(parts, string(s))
	}
	if len(t.Agents) > 0 {
		parts = append(parts, "reports for "+strings.Join(t.Agents, ", "))
	}
	return strings.Join(parts, ", ")
}

type revokeTokenCmd struct {
	Name string `arg:"" help:"Name of the token."`
}

// Run removes the token with the name.
func (c revokeTokenCmd) Run(l *loaded, t *terminal) error {
	if _, err := tokensText(l); err != nil {
		return err
	}
	if _, err := changeTokens(l.cli.TokensFile, func(file []byte) ([]byte, error) { return access.RemoveToken(file, c.Name) }); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.err, "%q is revoked. A server that uses %s ends it within seconds.\n", c.Name, l.cli.TokensFile)
	return err
}

func tokensText(l *loaded) ([]byte, error) {
	if l.cli.TokensFile == "" {
		return nil, errors.New("name the file: --auth-tokens-file")
	}
	return os.ReadFile(l.cli.TokensFile)
}

// changeTokens writes a tokens file anew, whole or not at all, and reports whether there was none before: to change, that is an empty one. Its owner and its mode
// are kept, comments in it are not.
func changeTokens(name string, change func([]byte) ([]byte, error)) (made bool, err error) {
	before, err := os.ReadFile(name)
	if made = errors.Is(err, fs.ErrNotExist); err != nil && !made {
		return false, err
	}
	after, err := change(before)
	if err != nil {
		return false, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*") // With mode 0600.
	if err != nil {
		return false, err
	}
	_, err = f.Write(after)
	if !made {
		err = cmp.Or(err, keepOwnerOf(f, name))
	}
	if err = cmp.Or(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return made, err
}

// keepOwnerOf gives f the owner and the mode of the file with a name.
func keepOwnerOf(f *os.File, name string) error {
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	return keepOwner(f, info)
}
