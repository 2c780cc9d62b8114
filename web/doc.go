// Package web is the dashboard: it asks package query, assembles the props of a page and lets package views write it. It holds no SQL
// and no rule about states. Every page is complete without scripts; scripts only refresh what is on it.
package web
