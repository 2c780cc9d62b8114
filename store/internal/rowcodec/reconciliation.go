package rowcodec

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"fleetglass/reconcile"
)

// EncodeReconciliation splits a reconciliation into what lists show, as JSON, and the rows of its report, as compressed JSON. rows is
// empty where there are none.
func EncodeReconciliation(r reconcile.Run) (head, rows []byte, err error) {
	kept := map[reconcile.DiscrepancyKind][]reconcile.Discrepancy{}
	if r.Report != nil {
		short := *r.Report
		short.Lists = make([]reconcile.DiscrepancyList, len(r.Report.Lists))
		for i, l := range r.Report.Lists {
			if len(l.Rows) > 0 {
				kept[l.Kind] = l.Rows
			}
			l.Rows = nil
			short.Lists[i] = l
		}
		r.Report = &short
	}
	if head, err = json.Marshal(r); err != nil {
		return nil, nil, fmt.Errorf("encode reconciliation: %w", err)
	}
	if len(kept) > 0 {
		if rows, err = compress(kept); err != nil {
			return nil, nil, fmt.Errorf("encode reconciliation: %w", err)
		}
	}
	return head, rows, nil
}

func compress(v any) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return nil, err
	}
	err := w.Close()
	return b.Bytes(), err
}

// Reconciliation decodes what EncodeReconciliation wrote; without rows those of its lists are left out.
func Reconciliation(head, rows []byte) (r reconcile.Run, err error) {
	if err := json.Unmarshal(head, &r); err != nil {
		return r, fmt.Errorf("decode reconciliation: %w", err)
	}
	if len(rows) == 0 || r.Report == nil {
		return r, nil
	}
	kept, err := decompress(rows)
	if err != nil {
		return r, fmt.Errorf("decode rows of reconciliation %s: %w", r.ID, err)
	}
	for i := range r.Report.Lists {
		r.Report.Lists[i].Rows = kept[r.Report.Lists[i].Kind]
	}
	return r, nil
}

func decompress(b []byte) (kept map[reconcile.DiscrepancyKind][]reconcile.Discrepancy, err error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(text, &kept)
	return kept, err
}
