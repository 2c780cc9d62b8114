// Package openid signs people in through an OpenID Connect provider: the code flow with PKCE, a state and a nonce. What a person may do
// comes from a claim of the identity token. The package keeps nothing: what one sign-in needs travels in a cookie of ten minutes.
package openid
