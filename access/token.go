package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goccy/go-yaml"
)

// Token is what is kept of a bearer token: never the token itself. Tokens have 256 random bits, so a plain SHA-256 cannot be
// searched, and looking one up by its hash tells nothing about others.
type Token struct {
	Name    string    `yaml:"name"`              // Required. Who acts: shown in the audit.
	SHA256  string    `yaml:"sha256"`            // Required. Hexadecimal hash of the token.
	Role    Role      `yaml:"role,omitempty"`    // Required, unless there are scopes.
	Scopes  []Scope   `yaml:"scopes,omitempty"`  // Required, unless there is a role; beside a role they are added to its scopes.
	Agents  []string  `yaml:"agents,omitempty"`  // Optional; the only agents that it may report for. Without any it reports for whom it likes, in its own name.
	Expires time.Time `yaml:"expires,omitempty"` // Optional; default never.
}

// NewToken makes a token of 256 random bits and the entry to keep for it. The text is shown once and kept nowhere.
func NewToken(name string, scopes []Scope, expires time.Time) (text string, entry Token) {
	var secret [32]byte
	_, _ = rand.Read(secret[:]) // Never fails (crypto/rand).
	text = "fg_" + base64.RawURLEncoding.EncodeToString(secret[:])
	return text, Token{Name: name, SHA256: Hash(text), Scopes: scopes, Expires: expires}
}

// Hash is the hexadecimal SHA-256 of a token.
func Hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// tokensFile is the form of the file.
type tokensFile struct {
	Tokens []Token `yaml:"tokens"`
}

// errNoTokens is what a file says that is empty or that is not one of tokens.
var errNoTokens = errors.New("no tokens")

// ParseTokens reads YAML with a list "tokens", which may be empty. It errors when there is no such key, on an unknown key, on an entry
// that is not complete, and on a name or hash that is there twice.
func ParseTokens(text []byte) ([]Token, error) {
	var keys map[string]any
	if err := yaml.Unmarshal(text, &keys); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	if _, ok := keys["tokens"]; !ok && len(keys) == 0 {
		return nil, errNoTokens
	}
	var file tokensFile
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.DisallowUnknownField()); err != nil {
		return nil, errors.New(yaml.FormatError(err, false, false))
	}
	seen := map[string]bool{}
	for i, t := range file.Tokens {
		if err := t.Validate(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		if seen[t.Name] || seen[t.SHA256] {
			return nil, fmt.Errorf("entry %d: name or hash is there twice", i+1)
		}
		seen[t.Name], seen[t.SHA256] = true, true
	}
	return file.Tokens, nil
}

// Validate errors when the entry is not complete or names a scope that does not exist.
func (t Token) Validate() error {
	if t.Name == "" {
		return fmt.Errorf("name is missing")
	}
	if sum, err := hex.DecodeString(t.SHA256); err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("%s: sha256 is not the hexadecimal hash of a token", t.Name)
	}
	if t.Role != "" && !slices.Contains(Roles(), t.Role) {
		return fmt.Errorf("%s: %s", t.Name, notARole(t.Role))
	}
	if len(t.Granted()) == 0 {
		return fmt.Errorf("%s: scopes are missing: give some, or a role", t.Name)
	}
	for _, s := range t.Scopes {
		if !slices.Contains(Scopes(), s) {
			return fmt.Errorf("%s: %s", t.Name, notAScope(s))
		}
	}
	if wrong := t.wrongAgents(); wrong != "" {
		return fmt.Errorf("%s: agents: %s", t.Name, wrong)
	}
	return nil
}

// wrongAgents says what is wrong with the agents that the token is bound to; empty for nothing.
func (t Token) wrongAgents() string {
	if len(t.Agents) > 0 && !(Principal{Scopes: t.Granted()}).Can(Report) {
		return "only a token with scope report is bound to agents"
	}
	for i, agent := range t.Agents {
		switch {
		case !validAgent(agent):
			return fmt.Sprintf("%q is not the name of an agent, one token of a subject", agent)
		case slices.Contains(t.Agents[:i], agent):
			return fmt.Sprintf("%q is there twice", agent)
		}
	}
	return ""
}

// validAgent reports whether a text can be the name of an agent: one token of a subject.
func validAgent(name string) bool {
	return name != "" && len(name) <= maxName && !strings.ContainsAny(name, ".*>") && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) })
}

// Granted lists what the token may do: the scopes of its role and its own.
func (t Token) Granted() []Scope { return append(t.Role.Scopes(), t.Scopes...) }

// expired reports whether the token has ended.
func (t Token) expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// AddToken adds an entry to the text of a tokens file, which may be empty. It errors when the file cannot be read, and when its name is taken.
func AddToken(file []byte, entry Token) ([]byte, error) {
	tokens, err := ParseTokens(file)
	if err != nil && !errors.Is(err, errNoTokens) {
		return nil, err
	}
	if slices.ContainsFunc(tokens, func(t Token) bool { return t.Name == entry.Name }) {
		return nil, fmt.Errorf("there is a token named %q: revoke it first", entry.Name)
	}
	return Marshal(append(tokens, entry)...)
}

// RemoveToken removes the entry with a name from the text of a tokens file. It errors when there is none.
func RemoveToken(file []byte, name string) ([]byte, error) {
	tokens, err := ParseTokens(file)
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(slices.Clone(tokens), func(t Token) bool { return t.Name == name })
	if len(left) == len(tokens) {
		return nil, fmt.Errorf("there is no token named %q", name)
	}
	return Marshal(left...)
}

// Marshal writes entries in the form of the file.
func Marshal(tokens ...Token) ([]byte, error) {
	return yaml.Marshal(tokensFile{Tokens: tokens})
}
