package web

import (
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"fleetglass/views"
)

// links are the ways to take a view elsewhere: a link that stays true, a command, and the same as JSON.
func links(c *gin.Context, share, api string, v url.Values) views.ViewLinks {
	json := address(api, v)
	return views.ViewLinks{Share: share, JSON: json, Curl: curl(origin(c) + json)}
}

func origin(c *gin.Context) string {
	scheme := "http"
	if c.Request.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + c.Request.Host
}

// curl is a command for a shell. The token is a placeholder: no page knows one.
func curl(target string) string {
	return `curl -sS -H "Authorization: Bearer $FLEETGLASS_TOKEN" ` + shellQuote(target)
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
