package views

// mapSize and what it is made of, in pixels. The map is wider than a phone: there the table says the same.
const (
	mapWidth  = 1080.0
	mapTop    = 34.0 // Below the names of the layers.
	mapRow    = 34.0 // From one task type to the next.
	mapGap    = 14.0 // Between agents.
	mapAgentH = 62.0 // The least height of an agent.
	typeH     = 26.0
)

// Columns of the layers: where each begins, and how wide it is.
var mapColumns = [4]struct{ x, w float64 }{{0, 156}, {256, 204}, {560, 236}, {918, 162}}

// mapBox is the place of something on the map.
type mapBox struct{ X, Y, W, H float64 }

// mapEdge is a line between two places. It is as wide as there is much on it.
type mapEdge struct {
	From, To     [2]float64
	Width        float64
	Tone         string
	Label, Title string
}

// path is a curve that leaves and arrives level.
func (e mapEdge) path() string {
	half := (e.From[0] + e.To[0]) / 2
	return "M" + px(e.From[0]) + " " + px(e.From[1]) + " C" + px(half) + " " + px(e.From[1]) + " " + px(half) + " " + px(e.To[1]) + " " + px(e.To[0]) + " " + px(e.To[1])
}

// mapLayout places everything: publishers at the left, then task types, agents, and what became of the work.
type mapLayout struct {
	Height    float64
	Publisher mapBox
	Types     [][]mapBox // Of each agent.
	Agents    []mapBox
	Ends      []mapBox
}

// layOut gives each agent a band that is high enough for its types. types are how many of them each agent has, ends how many outcomes there are.
// Types stand in the order of their agents, so no two lines between these layers cross.
func layOut(types []int, ends int) mapLayout {
	out := mapLayout{}
	y := mapTop
	for _, n := range types {
		band := max(mapAgentH, float64(n)*mapRow-(mapRow-typeH))
		column := mapColumns[2]
		out.Agents = append(out.Agents, mapBox{column.x, y + (band-mapAgentH)/2, column.w, mapAgentH})
		out.Types = append(out.Types, typeBoxes(n, y, band))
		y += band + mapGap
	}
	out.Height = max(y, mapTop+float64(ends)*(mapAgentH+mapGap))
	middle := mapTop + (out.Height-mapGap-mapTop)/2
	out.Publisher = mapBox{mapColumns[0].x, middle - mapAgentH/2, mapColumns[0].w, mapAgentH}
	first := middle - (float64(ends)*(mapAgentH+mapGap)-mapGap)/2
	for i := range ends {
		out.Ends = append(out.Ends, mapBox{mapColumns[3].x, first + float64(i)*(mapAgentH+mapGap), mapColumns[3].w, mapAgentH})
	}
	return out
}

// typeBoxes stand in the middle of the band of their agent.
func typeBoxes(n int, y, band float64) []mapBox {
	column := mapColumns[1]
	at := y + (band-(float64(n)*mapRow-(mapRow-typeH)))/2
	var out []mapBox
	for i := range n {
		out = append(out, mapBox{column.x, at + float64(i)*mapRow, column.w, typeH})
	}
	return out
}

func (b mapBox) left() [2]float64  { return [2]float64{b.X, b.Y + b.H/2} }
func (b mapBox) right() [2]float64 { return [2]float64{b.X + b.W, b.Y + b.H/2} }
