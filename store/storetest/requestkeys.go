package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"fleetglass/decision"
	"fleetglass/lifecycle"
)

var requestKeyTests = []conformanceTest{
	{"a key is reserved, completed, replayed and expired", keyLife},
	{"a key is taken over when its holder died", keyTakenOver},
	{"of many that reserve a key at once one runs", keyRace},
}

func keyRequest(key, fingerprint string, now lifecycle.Micros) decision.KeyRequest {
	return decision.KeyRequest{Key: key, Fingerprint: fingerprint, Now: now, Until: now + 100}
}

func keyLife(t *testing.T, s Store) {
	reserve := func(key, fingerprint string, now lifecycle.Micros) decision.KeyState {
		t.Helper()
		state, err := s.ReserveKey(t.Context(), keyRequest(key, fingerprint, now))
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	key := hostileText + strings.Repeat("k", 500)
	diff(t, "reserved", reserve(key, "f1", 1000), decision.KeyState{Status: decision.KeyReserved, Token: 1})
	diff(t, "running", reserve(key, "f1", 1050), decision.KeyState{Status: decision.KeyRunning})
	diff(t, "reused", reserve(key, "f2", 1050), decision.KeyState{Status: decision.KeyReused})
	if err := s.ReleaseKey(t.Context(), key, 1); err != nil {
		t.Fatal(err)
	}
	diff(t, "reserved after the request failed", reserve(key, "f2", 1060), decision.KeyState{Status: decision.KeyReserved, Token: 1})
	for range 2 {
		if err := s.CompleteKey(t.Context(), key, 1, []byte("reply\x00")); err != nil {
			t.Fatal(err)
		}
	}
	diff(t, "completed", reserve(key, "f2", 9000), decision.KeyState{Status: decision.KeyCompleted, Reply: []byte("reply\x00")})
	if err := s.ReleaseKey(t.Context(), key, 1); err != nil { // Too late: the reply stays.
		t.Fatal(err)
	}
	diff(t, "reused after completion", reserve(key, "f1", 9000), decision.KeyState{Status: decision.KeyReused})
	reserve("young", "f1", 2000)
	if n, err := s.ExpireKeys(t.Context(), 1500); err != nil || n != 1 {
		t.Errorf("expired %d, %v; want 1", n, err)
	}
	diff(t, "reserved after it expired", reserve(key, "f3", 9001), decision.KeyState{Status: decision.KeyReserved, Token: 1})
	diff(t, "the young one is kept", reserve("young", "f1", 2050), decision.KeyState{Status: decision.KeyRunning})
	if _, err := s.ReserveKey(t.Context(), decision.KeyRequest{Key: "k", Now: 1, Until: 2}); err == nil {
		t.Error("a reservation without a fingerprint was accepted")
	}
}

func keyTakenOver(t *testing.T, s Store) {
	for _, now := range []lifecycle.Micros{1000, 1100} {
		if state, err := s.ReserveKey(t.Context(), keyRequest("k", "f", now)); err != nil || state.Status != decision.KeyReserved {
			t.Fatalf("reserve at %d: %+v, %v", now, state, err)
		}
	}
	for what, err := range map[string]error{
		"complete": s.CompleteKey(t.Context(), "k", 1, nil), "release": s.ReleaseKey(t.Context(), "k", 1), "complete another": s.CompleteKey(t.Context(), "none", 1, nil),
	} {
		if !errors.Is(err, decision.ErrTakenOver) {
			t.Errorf("%s with an old token: got %v, want ErrTakenOver", what, err)
		}
	}
	if err := s.CompleteKey(t.Context(), "k", 2, []byte("second")); err != nil {
		t.Error(err)
	}
}

func keyRace(t *testing.T, s Store) {
	var reserved [5]atomic.Int64
	var work sync.WaitGroup
	for i := range 50 {
		work.Go(func() {
			state, err := s.ReserveKey(t.Context(), keyRequest(fmt.Sprint(i%5), "f", 1000))
			if err != nil {
				t.Errorf("reserve: %v", err)
			}
			if state.Status == decision.KeyReserved {
				reserved[i%5].Add(1)
			}
		})
	}
	work.Wait()
	for i := range reserved {
		if n := reserved[i].Load(); n != 1 {
			t.Errorf("key %d was reserved %d times at once, want once", i, n)
		}
	}
}
