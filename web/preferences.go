package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"
	_ "time/tzdata" // Readers' zones are known wherever the program runs.

	"github.com/gin-gonic/gin"

	"fleetglass/views"
)

// Names of the cookies that keep what a reader prefers.
const (
	cookieZone  = "fleetglass_tz"
	cookieTheme = "fleetglass_theme"
)

// preferences are what a person prefers.
type preferences struct {
	zone  *time.Location
	utc   bool
	theme string
}

func preferencesOf(c *gin.Context) preferences {
	r := preferences{zone: time.UTC, utc: true}
	if name, err := c.Cookie(cookieZone); err == nil {
		if zone, ok := zoneOf(name); ok && zone != time.UTC {
			r.zone, r.utc = zone, false
		}
	}
	if name, err := c.Cookie(cookieTheme); err == nil && (name == "light" || name == "dark") {
		r.theme = name
	}
	return r
}

// zoneOf finds a zone by its IANA name. The server's own zone is nobody's preference.
func zoneOf(name string) (*time.Location, bool) {
	if name == "" || name == "Local" || len(name) > 64 {
		return nil, false
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, false
	}
	if name == "UTC" {
		return time.UTC, true
	}
	return zone, true
}

// keepPreference keeps a preference in a cookie and goes back to where the reader was. Without scripts the reader's zone is not known,
// so "local" asks for it.
func (w *Web) keepPreference(c *gin.Context) error {
	back := localPath(c.Query("back"))
	if theme := c.Query("theme"); theme == "light" || theme == "dark" {
		keep(c, cookieTheme, theme)
	}
	switch tz := c.Query("tz"); {
	case tz == "local":
		snap, err := w.snapshot(c.Request.Context())
		if err != nil {
			return err
		}
		return w.render(c, frame{title: "Time zone", search: true, snapshot: snap}, views.Zones(back, zoneChoices))
	case tz != "":
		if _, ok := zoneOf(tz); ok {
			keep(c, cookieZone, tz)
		}
	}
	c.Redirect(http.StatusSeeOther, back)
	return nil
}

func keep(c *gin.Context, name, value string) {
	http.SetCookie(c.Writer, &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: 400 * 24 * 3600, SameSite: http.SameSiteLaxMode, Secure: c.Request.TLS != nil,
	})
}

// localPath keeps a redirect on this site: a path that begins with one slash, and nothing else.
func localPath(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(s, "/") ||
		strings.HasPrefix(s, "//") || strings.ContainsAny(s, "\\\r\n\t") {
		return "/"
	}
	return s
}

// zoneChoices are offered where no script can tell the reader's zone.
var zoneChoices = []string{
	"UTC", "Europe/London", "Europe/Lisbon", "Europe/Paris", "Europe/Berlin", "Europe/Madrid", "Europe/Rome", "Europe/Athens", "Europe/Kyiv",
	"Europe/Istanbul", "Africa/Lagos", "Africa/Johannesburg", "Africa/Nairobi", "Asia/Dubai", "Asia/Karachi", "Asia/Kolkata", "Asia/Dhaka",
	"Asia/Bangkok", "Asia/Singapore", "Asia/Shanghai", "Asia/Seoul", "Asia/Tokyo", "Australia/Perth", "Australia/Sydney", "Pacific/Auckland",
	"America/Sao_Paulo", "America/Argentina/Buenos_Aires", "America/New_York", "America/Toronto", "America/Chicago", "America/Mexico_City",
	"America/Denver", "America/Los_Angeles", "America/Anchorage", "Pacific/Honolulu",
}
