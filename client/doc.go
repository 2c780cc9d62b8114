// Package client asks a Fleetglass server over its JSON API. It needs the standard library only, so that any Go program may import it.
//
// Fields are those of the API's document (/openapi.json), as far as programs usually need them; [Client.Get] gives all of it. What is not known is a
// nil pointer or a zero time, never a made-up value.
package client
