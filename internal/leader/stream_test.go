package leader_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"fleetglass/internal/leader"
	"fleetglass/internal/testkit"
)

// A mirror in the same account answers direct gets of its stream, and keeps what is deleted there.
func TestAMirrorDoesNotAnswerForItsStream(t *testing.T) {
	t.Parallel()
	js := connect(t, testkit.BareBroker(t).URL())
	stream(t, js, jetstream.StreamConfig{Name: "TASKS", Subjects: []string{"tasks.>"}, AllowDirect: true})
	stream(t, js, jetstream.StreamConfig{Name: "COPY", Mirror: &jetstream.StreamSource{Name: "TASKS"}})
	publish(t, js, "tasks.a")
	stores(t, js, "COPY")
	client, err := js.Stream(t.Context(), "TASKS")
	if err != nil {
		t.Fatal(err)
	}
	if err := client.DeleteMsg(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s, err := leader.Find(t.Context(), js, "TASKS")
	if err != nil {
		t.Fatal(err)
	}
	mirrored := 0
	for range 100 {
		if _, err := client.GetMsg(t.Context(), 1); err == nil {
			mirrored++
		}
		if m, err := s.GetMsg(t.Context(), 1); !errors.Is(err, jetstream.ErrMsgNotFound) {
			t.Fatalf("a deleted message is there: %v, %v", m, err)
		}
		if m, err := s.NextMsg(t.Context(), 1, ">"); !errors.Is(err, jetstream.ErrMsgNotFound) {
			t.Fatalf("a deleted message is the next: %v, %v", m, err)
		}
	}
	if mirrored == 0 {
		t.Error("the client never asked the mirror, so nothing was tested")
	}
}

func TestMessagesAreReadBySequenceAndSubject(t *testing.T) {
	t.Parallel()
	js := connect(t, testkit.BareBroker(t).URL())
	stream(t, js, jetstream.StreamConfig{Name: "TASKS", Subjects: []string{"tasks.>"}})
	for _, subject := range []string{"tasks.a", "tasks.b", "tasks.a"} {
		publish(t, js, subject)
	}
	s, err := leader.Find(t.Context(), js, "TASKS")
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetMsg(t.Context(), 2)
	if err != nil || m.Subject != "tasks.b" || m.Sequence != 2 || string(m.Data) != "body" || m.Header.Get("X-Task-ID") != "t" || m.Time.IsZero() {
		t.Errorf("message 2 is %+v, %v", m, err)
	}
	if m, err = s.NextMsg(t.Context(), 2, "tasks.a"); err != nil || m.Sequence != 3 {
		t.Errorf("the next one is %+v, %v", m, err)
	}
	if _, err = s.GetMsg(t.Context(), 4); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("message 4: %v", err)
	}
	if _, err = leader.Find(t.Context(), js, "OTHER"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("another stream: %v", err)
	}
	if err := js.DeleteStream(t.Context(), "TASKS"); err != nil {
		t.Fatal(err)
	}
	var refused *jetstream.APIError
	if _, err = s.GetMsg(t.Context(), 1); !errors.As(err, &refused) || errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("the stream is gone, and its message: %v", err)
	}
}

// The broker takes any header block, and the client's GetMsg refuses an answer with one that it cannot read.
func TestAMessageWithMalformedHeadersIsRead(t *testing.T) {
	t.Parallel()
	url := testkit.BareBroker(t).URL()
	js := connect(t, url)
	stream(t, js, jetstream.StreamConfig{Name: "TASKS", Subjects: []string{"tasks.>"}, AllowDirect: true})
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "nats://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	header := "NATS/1.0\r\nno colon\r\nX-Task-ID: t\r\n\r\n"
	fmt.Fprintf(conn, "CONNECT {\"headers\":true,\"verbose\":false}\r\nHPUB tasks.a %d %d\r\n%sbody\r\nPING\r\n", len(header), len(header)+4, header)
	stores(t, js, "TASKS")
	s, err := leader.Find(t.Context(), js, "TASKS")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := s.GetMsg(t.Context(), 1); err != nil || m.Header.Get("X-Task-ID") != "t" || string(m.Data) != "body" {
		t.Errorf("the message is %+v, %v", m, err)
	}
}

func connect(t *testing.T, url string) jetstream.JetStream {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func stream(t *testing.T, js jetstream.JetStream, cfg jetstream.StreamConfig) {
	t.Helper()
	if _, err := js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, js jetstream.JetStream, subject string) {
	t.Helper()
	m := nats.NewMsg(subject)
	m.Header.Set("X-Task-ID", "t")
	m.Data = []byte("body")
	if _, err := js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// stores waits until a stream has stored a message.
func stores(t *testing.T, js jetstream.JetStream, name string) {
	t.Helper()
	testkit.Eventually(t, 10*time.Second, func() error {
		s, err := js.Stream(t.Context(), name)
		if err == nil && s.CachedInfo().State.LastSeq == 0 {
			err = errors.New(name + " has no message")
		}
		return err
	})
}
