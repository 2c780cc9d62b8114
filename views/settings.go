package views

import (
	"strings"

	"fleetglass/lifecycle"
)

// SettingsPage is who the reader is, who else may get in, how the program is set, and what it is.
type SettingsPage struct {
	Links   ViewLinks
	You     You
	Reveals string // Why administrators alone see the rest; empty for an administrator.
	Tokens  TokensPanel
	Groups  []SettingGroup
	About   About
}

// You are the reader, as the program knows who asks.
type You struct {
	Name, Role string
	Kind       string // How that was proved, in a few words.
	Scopes     []string
	Until      lifecycle.Micros // When the session ends by itself; zero for no session.
	SignsOut   bool
}

// TokensPanel is the list of tokens, and the form that makes one.
type TokensPanel struct {
	Rows    []TokenRow
	Off     Denial // Why none can be made or revoked here; empty where that can be done.
	Form    TokenForm
	Roles   []string // That may be chosen.
	Scopes  []string // That may be ticked.
	Made    string   // The name of the token that was just made; empty for none.
	Secret  string   // Its secret, shown this once.
	Revoked string   // The name of the token that was just revoked.
}

// TokenForm is what was typed, and what is wrong with it by field.
type TokenForm struct {
	Name, Role, Agents, Expires string
	Scopes                      map[string]bool
	Wrong                       map[string]string
}

// TokenRow is a token as administrators see it.
type TokenRow struct {
	ID, Name, Role, CreatedBy string
	Scopes                    []string
	Agents                    []string // The only ones that it may report for; empty for any.
	Configured                bool     // In the settings or their file, where it is also revoked.
	CreatedAt, LastUsed       lifecycle.Micros
	Expires                   lifecycle.Micros // Zero for never.
}

// May is what the token may do, in a few words.
func (r TokenRow) May() string {
	may := textOr(r.Role, listed(r.Scopes))
	if len(r.Agents) > 0 {
		may += ", reports for " + Cut(listed(r.Agents), 60)
	}
	return may
}

// Details is what the token may do, in full.
func (r TokenRow) Details() string {
	if len(r.Agents) == 0 {
		return listed(r.Scopes)
	}
	return listed(r.Scopes) + "; reports only for " + Printable(listed(r.Agents))
}

// Source says where a token is kept.
func (r TokenRow) Source() string {
	if r.Configured {
		return "settings"
	}
	return "store"
}

// Href is the page on which the token is revoked.
func (r TokenRow) Href() string { return "/settings/tokens/" + r.ID }

// RevokePage asks whether a token should end.
type RevokePage struct {
	Token TokenRow
	Off   Denial // Why it cannot; empty where it can.
}

// SettingGroup are settings that belong together.
type SettingGroup struct {
	Title string
	Rows  []SettingRow
}

// SettingRow is a setting as it is in force.
type SettingRow struct {
	Name     string // Of the flag, without its dashes.
	Variable string
	Value    string // Never a secret.
	From     string // "flag", "variable", "file" or "default".
	Help     string
}

// About is what the program is and what it works with.
type About struct {
	Version, Build, Go string
	Store              string // Kind and version of the database.
	Schema             int    // Number of the newest migration.
	Fold, Facts        int    // Versions of the rules that judge.
	Broker             string
	Started            lifecycle.Micros
}

func (f TokenForm) describedBy(field string) string {
	if f.Wrong[field] == "" {
		return field + "-hint"
	}
	return field + "-wrong " + field + "-hint"
}

func (f TokenForm) invalid(field string) string {
	if f.Wrong[field] == "" {
		return "false"
	}
	return "true"
}

func textOr(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

func listed(texts []string) string { return strings.Join(texts, ", ") }
