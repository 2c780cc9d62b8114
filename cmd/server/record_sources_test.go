package main

import (
	"slices"
	"testing"

	"fleetglass/duplicates"
)

func TestEveryStoreOfRecordsHasASourceAndAName(t *testing.T) {
	t.Parallel()
	var wired []duplicates.RecordStore
	for _, s := range newRecordSources(Config{}, nil) {
		wired = append(wired, s.store)
	}
	for _, store := range duplicates.RecordStores() {
		n := len(slices.DeleteFunc(slices.Clone(wired), func(s duplicates.RecordStore) bool { return s != store }))
		if want := map[bool]int{true: 1, false: 0}[store.Known()]; n != want {
			t.Errorf("%d sources are wired for records in %q, want %d", n, store, want)
		}
		if store.Name() == "" {
			t.Errorf("people have no name for records in %q", store)
		}
	}
	if len(wired) >= len(duplicates.RecordStores()) {
		t.Errorf("sources %v, of which package duplicates knows only %v", wired, duplicates.RecordStores())
	}
}
