package httperr_test

import (
	"bufio"
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"fleetglass/internal/httperr"

	"github.com/gin-gonic/gin"
)

// Many clients send the whole request before they read: an answer that comes with the end of the connection is lost to them.
func TestAClientThatSendsTooMuchReadsTheAnswer(t *testing.T) {
	t.Parallel()
	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.Use(httperr.Limits{MaxBody: 1000}.Middleware(slog.New(slog.DiscardHandler)))
	engine.POST("/", func(c *gin.Context) { c.Status(http.StatusNoContent) })
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	body := bytes.Repeat([]byte("x"), 20<<20)
	request := "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	if _, err := conn.Write(append([]byte(request), body...)); err != nil {
		t.Fatalf("send the request: %v", err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("got %s", answer.Status)
	}
}
