package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// ErrPrivate says that a webhook resolves to an address that is not public and not allowed.
var ErrPrivate = errors.New("the address is not public; --webhook-allow names networks that may be used all the same")

// reserved are networks that are not public, beside those that [netip.Addr] knows.
var reserved = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

// guardedClient dials what is allowed only. The address is looked at when the connection is made, after the name was resolved, so a name that
// resolves otherwise the second time gains nothing. It follows no redirect and uses no proxy.
func guardedClient(allow []netip.Prefix) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error { return check(address, allow) }}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: 5 * time.Second, MaxIdleConns: 4},
	}
}

// check refuses an address that is neither public nor allowed.
func check(address string, allow []netip.Prefix) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	ip := at.Addr().Unmap().WithZone("")
	in := func(p netip.Prefix) bool { return p.Contains(ip) }
	if slices.ContainsFunc(allow, in) {
		return nil
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || slices.ContainsFunc(reserved, in) {
		return fmt.Errorf("%s: %w", ip, ErrPrivate)
	}
	return nil
}
