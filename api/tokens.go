package api

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"fleetglass/access"
	"fleetglass/internal/httperr"
	"fleetglass/internal/routes"
	"fleetglass/lifecycle"
	"fleetglass/query"
)

// TokenRow is a token without its secret, which nobody has.
type TokenRow struct {
	ID         string         `json:"id" doc:"The beginning of its SHA-256; token_id of the audit." example:"5f0c2b1a9d8e"`
	Name       string         `json:"name" doc:"Who uses it: the actor of the audit." example:"grafana"`
	Role       Text           `json:"role" example:"viewer"`
	Scopes     []access.Scope `json:"scopes" nullable:"false" doc:"What it may do, those of its role included." example:"[\"read\"]"`
	Agents     []string       `json:"agents" nullable:"false" doc:"The only agents that it may report for; empty for any, in its own name." example:"[]"`
	Source     string         `json:"source" enum:"store,settings" doc:"store: made by this call, and revoked by it. settings: in the settings or in the tokens file, where it is revoked." example:"store"`
	ExpiresAt  Instant        `json:"expires_at" doc:"Null for never."`
	CreatedAt  Instant        `json:"created_at" doc:"Null for a token of the settings."`
	CreatedBy  Text           `json:"created_by"`
	LastUsedAt Instant        `json:"last_used_at" doc:"Null where no use is known. A use in another replica shows within a minute."`
}

// NewToken is a token that was just made, with its secret.
type NewToken struct {
	TokenRow
	Secret string `json:"secret" doc:"Shown now and never again." example:"fg_kP0v…"`
}

// TokenRequest is the body of the call for a token.
type TokenRequest struct {
	Name      string         `json:"name" doc:"1 to 100 printable characters that no other token has for a name." example:"grafana"`
	Role      access.Role    `json:"role,omitempty" enum:"viewer,triager,admin" doc:"Needed where there are no scopes." example:"viewer"`
	Scopes    []access.Scope `json:"scopes,omitempty" doc:"Needed where there is no role; beside one they are added." example:"[\"read\"]"`
	Agents    []string       `json:"agents,omitempty" doc:"The only agents that it may report for; needs the scope report. Default any: what it reports then stands in its own name." example:"[\"cto\"]"`
	ExpiresAt *string        `json:"expires_at,omitempty" doc:"RFC 3339 or a date; default never." example:"2027-11-20"`
}

// TokenInput names a token.
type TokenInput struct {
	KeyInput
	ID string `path:"id" doc:"The id of the token."`
}

const (
	tokensDetail = "Those of the settings and of the tokens file, and those that were made by this API. Secrets are never shown."
	createDetail = "The answer holds the secret, now and to no other caller; the store keeps its hash. A call that is sent again with its Idempotency-Key, by the same token or session, gets the same " +
		"reply: it is kept for 72 hours, locked with that token or session and the key, of which the store has no text. Without a key a second call for a name is answered 409. Needs authentication to be on."
	revokeDetail = "The token, its sessions and its streams end here at once, and in other replicas within five seconds. The answer is what it was. A token of the settings is revoked there: 409."
	tokenForm    = `{"name": "…", "role": "viewer" or "scopes": ["read"], "expires_at": "2027-11-20"}` //nolint:gosec // A form, no secret.
)

func (a *API) describeTokens() {
	register(a, call{
		id: "list-tokens", needs: access.Oversee, path: Base + "/tokens", tag: "access", summary: "All tokens", detail: tokensDetail, example: exampleTokens(),
		failures: []httperr.Code{httperr.InvalidCursor},
	}, a.listTokens)
	register(a, call{
		id: "create-token", needs: access.Admin, method: http.MethodPost, path: Base + "/tokens", tag: "access", summary: "Make a token", detail: createDetail, status: http.StatusCreated,
		keys: keySecret, example: exampleNewToken(), body: a.tokenBody(), failures: []httperr.Code{httperr.InvalidBody, httperr.Conflict},
	}, a.createToken)
	register(a, call{
		id: "revoke-token", does: routes.Deed{Kind: "token"}, needs: access.Admin, method: http.MethodDelete, path: Base + "/tokens/{id}", tag: "access", summary: "Revoke a token", detail: revokeDetail,
		example: exampleToken(), failures: []httperr.Code{httperr.NotFound, httperr.Conflict},
	}, a.revokeToken)
}

func (a *API) tokenBody() *huma.RequestBody {
	return &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {
		Schema:  a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[TokenRequest](), true, ""),
		Example: TokenRequest{Name: "grafana", Role: access.Viewer},
	}}}
}

func (a *API) listTokens(ctx context.Context, in *PageQuery) (*reply[List[TokenRow]], error) {
	if a.cfg.Tokens == nil {
		return nil, noTokens()
	}
	l, err := a.listRequest(ctx, *in)
	if err != nil {
		return nil, err
	}
	listed, err := a.cfg.Tokens.List(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]TokenRow, len(listed))
	for i, t := range listed {
		rows[i] = tokenRow(t.StoredToken)
		if t.Configured {
			rows[i].Source = "settings"
		}
	}
	rows, page := window(l, rows, func(t TokenRow) query.Cursor { return query.Cursor{Key: t.Name + " " + t.ID} })
	out := listReply(ctx, l, rows, page, []GapRef{})
	out.CacheControl = "no-store" // Who may do what stays in no cache.
	return out, nil
}

func noTokens() error {
	return httperr.New(httperr.Unavailable, nil).WithDetail("This server makes no tokens.")
}

func tokenRow(t access.StoredToken) TokenRow {
	row := TokenRow{
		ID: t.ID, Name: t.Name, Role: Text(t.Role), Scopes: t.Granted(), Agents: append([]string{}, t.Agents...), Source: "store", CreatedAt: Instant(t.CreatedAt), CreatedBy: Text(t.CreatedBy), LastUsedAt: Instant(t.LastUsed),
	}
	if !t.Expires.IsZero() {
		row.ExpiresAt = Instant(lifecycle.MicrosOf(t.Expires))
	}
	return row
}

func (a *API) createToken(ctx context.Context, _ *KeyInput) (*reply[NewToken], error) {
	if a.cfg.Tokens == nil {
		return nil, noTokens()
	}
	in, err := readBody[TokenRequest](requestOf(ctx), tokenForm)
	if err != nil {
		return nil, err
	}
	expires, err := bodyInstant("expires_at", in.ExpiresAt)
	wish := access.Token{Name: in.Name, Role: in.Role, Scopes: in.Scopes, Agents: in.Agents}
	if expires.Known() {
		wish.Expires = expires.Time()
	}
	if err != nil {
		return nil, together(tokenProblem(wish.Check(a.cfg.Now())), err)
	}
	secret, made, err := a.cfg.Tokens.Create(ctx, actorOf(ctx), wish)
	if err != nil {
		return nil, tokenProblem(err)
	}
	out := uncached(NewToken{TokenRow: tokenRow(made), Secret: secret})
	out.Status, out.CacheControl = http.StatusCreated, "no-store"
	return out, nil
}

// tokenProblem words what stands against a token.
func tokenProblem(err error) error {
	var wrong *access.InvalidToken
	switch {
	case errors.As(err, &wrong):
		var fields []error
		for _, part := range wrong.Wrong {
			fields = append(fields, invalidField(part.Field, part.Detail))
		}
		return together(fields...)
	case errors.Is(err, access.ErrTokenExists):
		return httperr.New(httperr.Conflict, err).WithDetail("There is a token with that name. Revoke it first, or take another name.").WithField("/body/name", "is taken")
	case errors.Is(err, access.ErrOff):
		return httperr.New(httperr.Conflict, err).WithDetail("Authentication is off, so nobody is asked for a token. Turn it on first: --token, --auth-tokens-file or --oidc-issuer.")
	case errors.Is(err, access.ErrConfigured):
		return httperr.New(httperr.Conflict, err).WithDetail("This token comes from the settings, so it cannot be revoked here: take it out of the settings or of the tokens file.")
	}
	return err
}

func (a *API) revokeToken(ctx context.Context, in *TokenInput) (*reply[TokenRow], error) {
	if a.cfg.Tokens == nil {
		return nil, noTokens()
	}
	was, err := a.cfg.Tokens.Revoke(ctx, actorOf(ctx), in.ID)
	if err != nil {
		return nil, tokenProblem(err)
	}
	return uncached(tokenRow(was)), nil
}

func exampleTokens() List[TokenRow] {
	return List[TokenRow]{Data: []TokenRow{exampleToken()}, AsOf: Instant(exampleTime(0)), Gaps: []GapRef{}}
}

func exampleToken() TokenRow {
	return TokenRow{
		ID: "5f0c2b1a9d8e", Name: "grafana", Role: "viewer", Scopes: []access.Scope{access.Read}, Agents: []string{}, Source: "store", CreatedAt: Instant(exampleTime(0)), CreatedBy: "ops",
		LastUsedAt: Instant(exampleTime(time.Minute)),
	}
}

func exampleNewToken() NewToken {
	return NewToken{TokenRow: exampleToken(), Secret: "fg_kP0vN3p1Zr8Q0m2Yx7w5t4s6u9aBcDeFgHiJkLmNoPq"} //nolint:gosec // An example, made up.
}
