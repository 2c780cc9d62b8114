// Package views writes pages. Every component takes complete props and decides only what to show or hide: no store, no clock, no
// rule about states. What every component needs and none decides (asset addresses, the reader's time zone, now) travels in the
// context as an [Env].
//
// Text from the fleet (titles, payloads, reasons) is untrusted; templ escapes all of it, and nothing here bypasses that.
package views
