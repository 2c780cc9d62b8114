package dlqtriage

// Trend is how the number of deaths in a group moves.
type Trend string

// The trends.
const (
	TrendNew     Trend = "new"     // The first of them died in the last [TrendSpan].
	TrendRising  Trend = "rising"  // More than in the span before.
	TrendSteady  Trend = "steady"  // As many as in the span before.
	TrendFalling Trend = "falling" // Fewer than in the span before.
	TrendQuiet   Trend = "quiet"   // None in either span.
)

// Trend compares the last [TrendSpan] with the one before.
func (g EntryGroup) Trend() Trend {
	switch {
	case g.Recent == g.Count && g.Count > 0:
		return TrendNew
	case g.Recent > g.Before:
		return TrendRising
	case g.Recent < g.Before:
		return TrendFalling
	case g.Recent == 0:
		return TrendQuiet
	}
	return TrendSteady
}

// Filter selects the entries of the group, which was made of those that f selects, by the given fields.
func (g EntryGroup) Filter(by []GroupField, f EntryFilter) EntryFilter {
	for i, field := range by {
		value := g.Values[i]
		if value == "" {
			value = Empty
		}
		switch field {
		case ByStatus:
			f.Statuses = []Status{Status(value)}
		case ByCategory:
			f.Categories = []Category{Category(value)}
		case ByDetail:
			f.Details = []string{value}
		case ByKind:
			f.Kinds = []Kind{Kind(value)}
		case ByPath:
			f.Paths = []Path{Path(value)}
		case ByAgent:
			f.Agents = []string{value}
		case ByType:
			f.Types = []string{value}
		case ByFingerprint:
			f.Fingerprints = []string{value}
		}
	}
	return f
}
