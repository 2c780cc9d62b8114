package firestorekit

import (
	"testing"
	"time"

	"fleetglass/fleet"
	"fleetglass/internal/firestoretest"
	"fleetglass/lifecycle"
)

// stale is a claim that has looked at the key and writes long after.
type stale struct {
	r     *Reservations
	claim fleet.Claim
	saw   situation
}

func look(t *testing.T, r *Reservations, c fleet.Claim) stale {
	t.Helper()
	docs, err := r.client.GetAll(t.Context(), r.refs(c))
	if err != nil {
		t.Fatal(err)
	}
	saw, err := situationOf(docs)
	if err != nil {
		t.Fatal(err)
	}
	return stale{r, c, saw}
}

func (s stale) write(t *testing.T) (time.Time, error) {
	t.Helper()
	return s.r.write(t.Context(), s.saw, s.claim, newClaimID())
}

func TestAClaimThatLookedLongAgoTakesNothing(t *testing.T) {
	t.Parallel()
	server := firestoretest.Start(t, firestoretest.Config{})
	r, err := NewReservations(Config{Client: server.Client(t)})
	if err != nil {
		t.Fatal(err)
	}
	c := fleet.Claim{TaskID: "t-1", Owner: "x", Lease: time.Minute}
	reserve := func() fleet.Reservation {
		t.Helper()
		held, _, err := r.Reserve(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	beforeAll := look(t, r, c)
	first := reserve()
	whileHeld := look(t, r, c)
	if err := r.Release(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if _, err := whileHeld.write(t); !refused(err) {
		t.Errorf("over a reservation that is gone: %v", err)
	}
	at, err := beforeAll.write(t) // Nobody holds the key: it may be taken, with a token of now.
	if err != nil || tokenOf(at) <= first.Token {
		t.Errorf("token %d after %d, %v", tokenOf(at), first.Token, err)
	}
	if _, err := beforeAll.write(t); !refused(err) {
		t.Errorf("over one that another made: %v", err)
	}
	mine := fleet.Reservation{Claim: c, Token: tokenOf(at), Revision: revision(at)}
	whileHeld = look(t, r, c)
	next, err := r.Renew(t.Context(), mine)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := whileHeld.write(t); !refused(err) {
		t.Errorf("over one that was renewed: %v", err)
	}
	whileHeld = look(t, r, c)
	now := lifecycle.MicrosOf(time.Now())
	if _, err := r.Confirm(t.Context(), next, fleet.Record{AgentID: "cto", CompletedAt: now, ExpiresAt: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]stale{"before all": beforeAll, "while held": whileHeld} {
		if _, err := s.write(t); !refused(err) {
			t.Errorf("looked %s, wrote after the completion: %v", name, err)
		}
	}
}

func TestEveryIDIsADocumentOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, id := range []string{"t-1", "t-1~=2", "t-1-2", "a/b", "YS9i", "=YS9i", ".", "..", "__a__", "__a", "", "=", "~=", "日本", "a b"} {
		for _, key := range []string{"", id + "-2", id + "-3"} {
			doc := DocumentID(id, key)
			if other, taken := seen[doc]; taken {
				t.Errorf("%q with %q has the document %q of %s", id, key, doc, other)
			}
			seen[doc] = id + " with " + key
			if doc == "" || doc == "." || doc == ".." {
				t.Errorf("%q is no id of a document", doc)
			}
		}
		if got, want := DocumentID(id, id+"-1"), DocumentID(id, ""); got != want {
			t.Errorf("the first version of %q has %q, want %q", id, got, want)
		}
	}
	if got := DocumentID("t-1", "t-1-2"); got != "t-1~=2" {
		t.Errorf("got %q", got)
	}
}
