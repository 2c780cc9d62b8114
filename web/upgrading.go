package web

import (
	"fmt"

	"fleetglass/lifecycle"
	"fleetglass/views"
)

// upgrading says that a list may lack older tasks: they have no attempts, no run time and no cost until they are judged by the rules that know them.
func (w *Web) upgrading(f lifecycle.Filter) []views.Banner {
	p, running := w.upgrade()
	if !running || !f.Attempt.Asked() && !f.Ran.Asked() && !f.Cost.Asked() {
		return nil
	}
	return []views.Banner{upgradeBanner(p, "attempt:, duration: and cost: may miss some of them until then.")}
}

// counting says that counts are still those of the older rules.
func (w *Web) counting() []views.Banner {
	p, running := w.upgrade()
	if !running {
		return nil
	}
	return []views.Banner{upgradeBanner(p, "Counts are those of the older rules until then.")}
}

func (w *Web) upgrade() (p lifecycle.UpgradeProgress, running bool) {
	if w.cfg.Upgrade == nil {
		return p, false
	}
	p = w.cfg.Upgrade()
	return p, !p.Done()
}

func upgradeBanner(p lifecycle.UpgradeProgress, means string) views.Banner {
	return views.Banner{Kind: "run", Icon: "info", Title: fmt.Sprintf("Older tasks are being judged anew (%d %%).", p.Percent), Text: means, Href: "/capture", Link: "Capture"}
}
