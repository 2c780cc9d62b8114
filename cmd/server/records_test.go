package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"fleetglass/duplicates"
	"fleetglass/fleet"
	"fleetglass/internal/testkit"
)

func TestTheRetentionOfRecordsIsReadFromTheBroker(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.Broker(t))
	now := time.Now()
	r := &recordRetention{js: js, now: func() time.Time { return now }}
	read := func(ctx context.Context) (duplicates.Retention, error) {
		now = now.Add(recordRetentionAge)
		return r.Read(ctx)
	}
	want := duplicates.Retention{Known: true, Records: 9 * 24 * time.Hour, MaxAge: 7 * 24 * time.Hour, DuplicateWindow: time.Hour, RetryDelay: 24 * time.Hour}
	if got, err := read(t.Context()); err != nil || got != want {
		t.Errorf("as provisioned: %+v, %v; want %+v", got, err, want)
	}
	if err := js.DeleteStream(t.Context(), fleet.StreamRetry); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Read(t.Context()); err != nil || got != want {
		t.Errorf("what was read a moment ago: %+v, %v; want %+v", got, err, want)
	}
	want.RetryDelay = 0
	if got, err := read(t.Context()); err != nil || got != want {
		t.Errorf("without retries: %+v, %v; want %+v", got, err, want)
	}
	if err := js.DeleteKeyValue(t.Context(), fleet.BucketIdempotency); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t.Context()); err != nil || got.Known {
		t.Errorf("without records: %+v, %v; want not known", got, err)
	}
}

func TestABrokerWithoutStreamsHasNoRetention(t *testing.T) {
	t.Parallel()
	js := testkit.JetStream(t, testkit.BareBroker(t))
	if got, err := (&recordRetention{js: js, now: time.Now}).Read(t.Context()); err != nil || got.Known {
		t.Errorf("got %+v, %v; want not known", got, err)
	}
}

func TestTheCostOfADuplicateIsASetting(t *testing.T) {
	t.Parallel()
	l, err := load(nil, vars(), io.Discard)
	if err != nil || *l.cli.duplicateCost() != duplicates.DefaultCost() {
		t.Errorf("default: %+v, %v", l.cli.duplicateCost(), err)
	}
	if l, err = load([]string{"--duplicate-cost-low", "0", "--duplicate-cost-high", "0", "--duplicate-minutes", "2.5"}, vars(), io.Discard); err != nil ||
		*l.cli.duplicateCost() != (duplicates.Cost{Minutes: 2.5}) {
		t.Errorf("money does not count: %v", err)
	}
	if l, err = load([]string{"--record-read-price", "0.06", "--firestore-project", "p"}, vars(), io.Discard); err != nil ||
		l.cli.recordPrices().ReadsUSD != 0.06 || l.cli.recordPrices().WritesUSD != 0.09 || newRecordSources(l.cli.Config, nil).store() != duplicates.RecordsFirestore {
		t.Errorf("prices of records: %v", err)
	}
	_, err = load([]string{"--duplicate-cost-low", "2", "--duplicate-cost-high", "1", "--duplicate-minutes", "NaN"}, vars(), io.Discard)
	for _, name := range []string{"--duplicate-cost-low", "--duplicate-minutes"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not name %s: %v", name, err)
		}
	}
}
