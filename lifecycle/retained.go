package lifecycle

import "strconv"

// WatermarkRetained is the name under which the program keeps up to when it has deleted what had ended, or is about to.
const WatermarkRetained = "retained"

// Retained reads what is stored as [WatermarkRetained]; zero where nothing was deleted.
func Retained(text string) Micros {
	at, _ := strconv.ParseInt(text, 10, 64) // An empty text is none.
	return Micros(at)
}
