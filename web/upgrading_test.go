package web_test

import (
	"testing"

	"fleetglass/lifecycle"
	"fleetglass/web/webtest"
)

func TestPagesSayThatOlderTasksAreJudgedAnew(t *testing.T) {
	t.Parallel()
	progress := lifecycle.UpgradeProgress{From: 30, To: 31, Judged: 400, Percent: 40}
	s := newSite(t, webtest.Rich(noon).Batch, func(c *setup) {
		c.Upgrade = func() lifecycle.UpgradeProgress { return progress }
	})
	const banner = ".banner.run"
	for path, says := range map[string]string{
		"/tasks?q=attempt%3A%3E1":         "Older tasks are being judged anew (40 %). attempt:, duration: and cost: may miss some of them until then.",
		"/tasks?q=-duration%3A%3E30s":     "may miss some of them",
		"/statistics?range=24h":           "Counts are those of the older rules until then.",
		"/tasks?q=agent%3Acto":            "=0",
		"/tasks/tsk-7f3a91":               "=0",
		"/tasks?q=published%3A%3C2h+blog": "=0",
	} {
		wants{banner: says}.check(t, s.get(t, path, 200))
	}
	progress.From = 31
	wants{banner: "=0"}.check(t, s.get(t, "/tasks?q=attempt%3A%3E1", 200))
}
