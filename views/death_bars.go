package views

import "fmt"

// DeathStep is how many messages of a group died in two hours.
type DeathStep struct {
	Count  int64
	Unseen bool // Nothing was observed meanwhile: the count says nothing.
}

// Sizes of the bars of a trend, in units of the picture.
const (
	deathWidth  = 4
	deathHeight = 16
)

// deathBar is how high the bar of a count is: the highest fills the picture, and the smallest can be seen.
func deathBar(steps []DeathStep, n int64) int {
	return max(2, int(deathHeight*n/max(1, mostDeaths(steps))))
}

func mostDeaths(steps []DeathStep) (most int64) {
	for _, s := range steps {
		most = max(most, s.Count)
	}
	return most
}

// deathWords say what the bars show.
func deathWords(steps []DeathStep) string {
	unseen := 0
	for _, s := range steps {
		if s.Unseen {
			unseen++
		}
	}
	words := fmt.Sprintf("Deaths in the last 48 h, 2 h each: %d at most", mostDeaths(steps))
	if unseen > 0 {
		words += fmt.Sprintf("; %d h were not observed", 2*unseen)
	}
	return words + "."
}
