package lifecycle

import "testing"

// An acknowledgement may claim to be the answer to any delivery.
func TestAForgedNumberOfDeliveriesIsBounded(t *testing.T) {
	t.Parallel()
	r := traceOf(t, "T", "published 0s seq=1 task=T\nacked 1s seq=1 n=2000000000 cseq=2000000000", 0)
	if n := len(r.Messages[0].Attempts); n > maxAttemptsTold {
		t.Errorf("%d attempts are told", n)
	}
	if last := r.Messages[0].Attempts[len(r.Messages[0].Attempts)-1]; last.N != 2_000_000_000 || last.End != EndAcked {
		t.Errorf("the last attempt is %+v", last)
	}
}
