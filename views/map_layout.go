package views

// What the map is made of: heights are in pixels, widths are shares of the width that the map has. On a phone the table says the same.
const (
	mapTop    = 34.0 // Below the names of the layers.
	mapGap    = 14.0 // Between agents.
	mapBoxH   = 62.0 // The height of an agent, a publisher and an end.
	typeH     = 26.0 // The least height of a type.
	typeGap   = 8.0  // Between types.
	edgeApart = 15.0 // Between lines that end at one place, so that the rate of each can be read.
)

// Columns of the layers: where each begins, and how wide it is.
var mapColumns = [4]struct{ x, w float64 }{{0, 0.15}, {0.223, 0.22}, {0.516, 0.21}, {0.81, 0.19}}

// mapBox is the place of something on the map.
type mapBox struct{ X, Y, W, H float64 }

// mapEdge is a line from one layer to the next. It is as wide as there is much on it.
type mapEdge struct {
	Layer       int     // From which layer it comes.
	From, To    float64 // The heights at which it begins and ends.
	Width       float64
	Tone        string
	Rate, Title string
	RateAtEnd   bool // The rate stands where the line ends, else where it begins.
}

// path is a curve over a width of 100, which leaves and arrives level. It is straight where its rate stands.
func (e mapEdge) path() string {
	from, to := px(e.From), px(e.To)
	if e.RateAtEnd {
		return "M0 " + from + " C30 " + from + " 30 " + to + " 60 " + to + " H100"
	}
	return "M0 " + from + " H40 C70 " + from + " 70 " + to + " 100 " + to
}

func (e mapEdge) rateX() float64 {
	if e.RateAtEnd {
		return mapColumns[e.Layer+1].x
	}
	return mapColumns[e.Layer].x + mapColumns[e.Layer].w
}

// rateShift keeps the rate off the place that it stands at, in pixels.
func (e mapEdge) rateShift() float64 {
	if e.RateAtEnd {
		return -6
	}
	return 6
}

func (e mapEdge) rateY() float64 {
	if e.RateAtEnd {
		return e.To + 4
	}
	return e.From + 4
}

func (e mapEdge) anchor() string {
	if e.RateAtEnd {
		return "end"
	}
	return "start"
}

// mapBetween is the room between a layer and the next.
func mapBetween(layer int) mapBox {
	x := mapColumns[layer].x + mapColumns[layer].w
	return mapBox{X: x, W: mapColumns[layer+1].x - x}
}

// mapLayout places everything: publishers at the left, then task types, agents, and what became of the work.
type mapLayout struct {
	Height     float64
	Publishers []mapBox
	Types      [][]mapBox // Of each agent.
	Agents     []mapBox
	Ends       []mapBox
}

// layOut gives each agent a band that is high enough for its types. lines are how many lines come to each type of each agent; there are so many
// publishers and outcomes. Types stand in the order of their agents, so no two lines between these layers cross.
func layOut(publishers int, lines [][]int, ends int) mapLayout {
	out := mapLayout{}
	y := mapTop
	for _, of := range lines {
		high := -typeGap
		for _, n := range of {
			high += typeHeight(n) + typeGap
		}
		band := max(mapBoxH, high)
		column := mapColumns[2]
		out.Agents = append(out.Agents, mapBox{column.x, y + (band-mapBoxH)/2, column.w, mapBoxH})
		out.Types = append(out.Types, typeBoxes(of, y+(band-high)/2))
		y += band + mapGap
	}
	out.Height = max(y, mapTop+float64(max(publishers, ends))*(mapBoxH+mapGap))
	out.Publishers, out.Ends = stacked(0, publishers, out.Height), stacked(3, ends, out.Height)
	return out
}

// stacked are n places, spread over the height but not far from each other.
func stacked(layer, n int, height float64) []mapBox {
	room := height - mapGap - mapTop
	step := min(max(room/float64(max(1, n)), mapBoxH+mapGap), 2*(mapBoxH+mapGap))
	first := mapTop + (room-float64(n-1)*step-mapBoxH)/2
	var out []mapBox
	for i := range n {
		out = append(out, mapBox{mapColumns[layer].x, first + float64(i)*step, mapColumns[layer].w, mapBoxH})
	}
	return out
}

// typeHeight leaves room for the rates of so many lines.
func typeHeight(lines int) float64 { return max(typeH, float64(lines)*edgeApart) }

// typeBoxes stand below each other, from the given height on.
func typeBoxes(lines []int, y float64) []mapBox {
	var out []mapBox
	for _, n := range lines {
		out = append(out, mapBox{mapColumns[1].x, y, mapColumns[1].w, typeHeight(n)})
		y += typeHeight(n) + typeGap
	}
	return out
}

func (b mapBox) middle() float64 { return b.Y + b.H/2 }

// apart is the height of one of several lines, each with room for a rate.
func apart(at float64, i, n int) float64 { return at + (float64(i)-float64(n-1)/2)*edgeApart }
