package main

import (
	"fmt"
	"io"
	"testing"
	"time"

	"fleetglass/internal/firestoretest"
	"fleetglass/internal/testkit"
)

func TestRecordsInFirestoreReachTheAPI(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t, firestoretest.Config{})
	r := start(t, settings(t, "--firestore-project", firestoretest.Project, "--firestore-emulator", server.Addr()))
	record := map[string]any{"taskId": "T-fire", "agentId": "backend", "completedAt": time.Now().UnixMilli()}
	if _, err := server.Client(t).Doc("task-idempotency/T-fire").Set(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, patience, func() error {
		var events struct {
			Data []struct {
				Kind, Source string
			}
		}
		if err := r.get("/api/v1/tasks/T-fire/events", &events); err != nil {
			return err
		}
		if len(events.Data) != 1 || events.Data[0].Kind != "completion_recorded" || events.Data[0].Source != "task-idempotency/T-fire" {
			return fmt.Errorf("events %+v", events)
		}
		return nil
	})
	r.wantPart("firestore", "ok")
}

func TestWithoutFirestoreNothingIsMissing(t *testing.T) {
	t.Parallel()
	r := start(t, settings(t))
	r.wantPart("firestore", "not_configured")
}

func TestTheUsualVariableNamesTheEmulator(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  environment
		want string
	}{
		{vars("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1"), "127.0.0.1:1"},
		{vars("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1", "FLEETGLASS_FIRESTORE_EMULATOR", "127.0.0.1:2"), "127.0.0.1:2"},
		{vars("FIRESTORE_EMULATOR_HOST", ""), ""},
	} {
		l, err := load(nil, tt.env, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.cli.FirestoreEmulator; got != tt.want {
			t.Errorf("got emulator %q, want %q", got, tt.want)
		}
	}
}

// wantPart waits until /readyz says that a part is in that state.
func (r *running) wantPart(name, state string) {
	r.t.Helper()
	testkit.Eventually(r.t, patience, func() error {
		var ready struct {
			Parts []struct{ Name, State string }
		}
		if err := r.get("/readyz", &ready); err != nil {
			return err
		}
		for _, p := range ready.Parts {
			if p.Name == name && p.State == state {
				return nil
			}
		}
		return fmt.Errorf("parts %+v, want %s to be %s", ready.Parts, name, state)
	})
}

func TestDeadLettersAreCopiedIntoFirestore(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t, firestoretest.Config{})
	r := start(t, settings(t, "--firestore-project", firestoretest.Project, "--firestore-emulator", server.Addr(), "--failure-log"))
	r.die("T-dead", "context_length_exceeded")
	client := server.Client(t)
	testkit.Eventually(t, 60*time.Second, func() error {
		found, err := client.Collection("failure-log").Documents(t.Context()).GetAll()
		if err != nil {
			return err
		}
		hours, err := client.Collection("dlq-metrics").Documents(t.Context()).GetAll()
		if err != nil {
			return err
		}
		if len(found) != 1 || found[0].Data()["taskId"] != "T-dead" || found[0].Data()["reason"] != "context_length_exceeded" || len(hours) != 1 {
			return fmt.Errorf("%d entries, %d hours", len(found), len(hours))
		}
		return nil
	})
	r.wantPart("failure log", "ok")
}
