package views

import (
	"slices"
	"strings"
)

// plotBar is a bar, or a cell of a heat map. X and W are 0 to 1, Y and H pixels.
type plotBar struct {
	X, W, Y, H float64
	Class      string
	Opacity    string // Of a cell; empty for a bar.
}

// plotStroke is a piece of a line.
type plotStroke struct {
	X1, X2, Y1, Y2 float64
	Class          string
}

// bars are the stacked bars of the series that are no lines.
func (p Plot) bars() []plotBar {
	if p.Heat {
		return p.cells()
	}
	var out []plotBar
	for i, s := range p.Steps {
		sum := 0.0
		for n, v := range s.Values {
			if p.Series[n].Line || !v.Known || v.Y <= 0 || s.Blind != "" {
				continue
			}
			top := p.y(sum + v.Y)
			class := "f-" + p.Series[n].Tone
			if s.Open {
				class += " so-far"
			}
			out = append(out, plotBar{X: p.x(float64(i) + (1-barShare)/2), W: barShare / float64(len(p.Steps)), Y: top, H: p.y(sum) - top, Class: class})
			sum += v.Y
		}
	}
	return out
}

// cells are those of a heat map: the more tasks, the fuller.
func (p Plot) cells() []plotBar {
	var out []plotBar
	rows := float64(len(p.Series))
	height := (p.low() - plotTop) / max(1, rows)
	for i, s := range p.Steps {
		for n, v := range s.Values {
			if v.Y <= 0 || s.Blind != "" {
				continue
			}
			out = append(out, plotBar{X: p.x(float64(i)), W: p.x(1), Y: p.low() - float64(n+1)*height, H: height, Class: "cell f-" + p.Series[n].Tone, Opacity: heat(v.Y / p.Top)})
		}
	}
	return out
}

// heat is how full a cell is, in steps that the eye tells apart. The least that there is can be seen.
func heat(share float64) string {
	for _, level := range []struct {
		upTo  float64
		shown string
	}{{0.05, ".16"}, {0.15, ".3"}, {0.3, ".45"}, {0.5, ".62"}, {0.75, ".8"}} {
		if share <= level.upTo {
			return level.shown
		}
	}
	return "1"
}

// strokes are the lines, from the middle of a step to the middle of the next. A line breaks where a value is not known, and ends before a step that is
// not over or was observed in part only: that would read as a drop. The value of such a step is a short pale one, and a value alone a short one.
func (p Plot) strokes() []plotStroke {
	var out []plotStroke
	for n, series := range p.Series {
		if !series.Line {
			continue
		}
		class := "line l-" + series.Tone
		if series.Dashed {
			class += " dashed"
		}
		for i := range p.Steps {
			here, next := p.value(i, n), p.value(i+1, n)
			x := p.x(float64(i) + 0.5)
			switch {
			case here == nil && p.inPart(i, n):
				y := p.y(p.Steps[i].Values[n].Y)
				out = append(out, plotStroke{p.x(float64(i) + 0.3), p.x(float64(i) + 0.7), y, y, class + " so-far"})
			case here != nil && next != nil:
				out = append(out, plotStroke{x, p.x(float64(i) + 1.5), p.y(here.Y), p.y(next.Y), class})
			case here != nil && p.value(i-1, n) == nil:
				out = append(out, plotStroke{p.x(float64(i) + 0.3), p.x(float64(i) + 0.7), p.y(here.Y), p.y(here.Y), class})
			}
		}
	}
	return out
}

// value is a value of a step that a line is drawn to, nil where it is not known or there is no such step.
func (p Plot) value(step, series int) *PlotValue {
	if !p.seen(step) || !p.Steps[step].Values[series].Known {
		return nil
	}
	if p.Steps[step].Partial && (!p.seen(step-1) || !p.seen(step+1)) {
		return nil
	}
	return &p.Steps[step].Values[series]
}

// inPart reports whether a value is that of a step that is not over, or of which only a part was observed.
func (p Plot) inPart(step, series int) bool {
	s := p.Steps[step]
	return s.Blind == "" && (s.Open || s.Partial) && s.Values[series].Known
}

// unfinished reports whether something is drawn pale.
func (p Plot) unfinished() bool {
	pale := func(class string) bool { return strings.HasSuffix(class, " so-far") }
	return slices.ContainsFunc(p.bars(), func(b plotBar) bool { return pale(b.Class) }) || slices.ContainsFunc(p.strokes(), func(s plotStroke) bool { return pale(s.Class) })
}

// seen reports whether there is such a step, it is over, and something of it was observed.
func (p Plot) seen(step int) bool {
	return step >= 0 && step < len(p.Steps) && !p.Steps[step].Open && p.Steps[step].Blind == ""
}

// blinds are the stretches in which nothing was observed.
func (p Plot) blinds() []plotBar {
	var out []plotBar
	for i, s := range p.Steps {
		if s.Blind == "" {
			continue
		}
		if n := len(out); n > 0 && i > 0 && p.Steps[i-1].Blind != "" {
			out[n-1].W += p.x(1)
			continue
		}
		out = append(out, plotBar{X: p.x(float64(i)), W: p.x(1), Y: plotTop, H: p.low() - plotTop})
	}
	return out
}

func (p Plot) blind() bool { return len(p.blinds()) > 0 }

// markY is where a mark of the axis stands: of a heat map in the middle of its row.
func (p Plot) markY(m PlotMark) float64 {
	if p.Heat {
		return p.low() - (m.Y+0.5)*(p.low()-plotTop)/float64(max(1, len(p.Series)))
	}
	return p.y(m.Y)
}
