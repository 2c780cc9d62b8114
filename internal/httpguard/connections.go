package httpguard

import (
	"container/list"
	"net"
	"net/http"
	"sync"
)

// Connections keeps the number of open connections within a bound, so that file descriptors are left for broker and store. One connection too
// many takes the place of the one that has asked for nothing for the longest; where all are busy, it is closed itself.
type Connections struct {
	most int

	mu   sync.Mutex
	all  map[net.Conn]*list.Element // Nil for those that are busy.
	idle *list.List                 // Of net.Conn, that which has been idle for the longest first.
}

// NewConnections returns Connections of which at most so many (at least 1) are open.
func NewConnections(most int) *Connections {
	return &Connections{most: max(1, most), all: map[net.Conn]*list.Element{}, idle: list.New()}
}

// Track is for [http.Server.ConnState].
func (c *Connections) Track(conn net.Conn, state http.ConnState) {
	if old := c.note(conn, state); old != nil {
		cut(old)
	}
}

// note keeps the state of a connection, and returns the one that must go, if any.
func (c *Connections) note(conn net.Conn, state http.ConnState) (goes net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if place := c.all[conn]; place != nil {
		c.idle.Remove(place)
	}
	delete(c.all, conn)
	switch state {
	case http.StateNew, http.StateIdle:
		if state == http.StateNew && len(c.all) >= c.most {
			goes = c.longestIdle()
			if goes == nil {
				return conn
			}
		}
		c.all[conn] = c.idle.PushBack(conn)
	case http.StateActive:
		c.all[conn] = nil
	}
	return goes
}

// longestIdle forgets and returns the connection that has been idle for the longest; nil when all are busy.
func (c *Connections) longestIdle() net.Conn {
	front := c.idle.Front()
	if front == nil {
		return nil
	}
	conn := c.idle.Remove(front).(net.Conn)
	delete(c.all, conn)
	return conn
}

// cut closes a connection at once. That of TLS would first tell the other side, and wait for it.
func cut(conn net.Conn) {
	if below, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = below.NetConn()
	}
	_ = conn.Close() // The server notices.
}
