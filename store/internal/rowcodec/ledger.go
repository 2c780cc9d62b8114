package rowcodec

import "fleetglass/lifecycle"

func writeCopy(w *writer, c *lifecycle.CopyFacts) {
	writeKey(w, 1, c.Key)
	w.text(2, c.IdemKey)
	w.text(3, c.Hash)
	w.text(4, c.MsgID)
	w.at(5, c.At)
	w.at(6, c.AckedAt)
	w.int(7, int64(c.Attempt))
	w.at(8, c.After)
	w.at(9, c.By)
	w.bool(10, c.Silent)
	w.bool(11, c.Worked)
	w.text(12, c.Agent)
	w.int(13, int64(c.Attempts))
	w.at(14, c.To)
	w.bool(15, c.InHand)
	w.at(16, c.Gone)
}

func readCopy(r *reader, c *lifecycle.CopyFacts) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			c.Key = readKey(r)
		case 2:
			c.IdemKey = r.text()
		case 3:
			c.Hash = r.text()
		case 4:
			c.MsgID = r.text()
		case 5:
			c.At = r.at()
		case 6:
			c.AckedAt = r.at()
		case 7:
			c.Attempt = int(r.int())
		case 8:
			c.After = r.at()
		case 9:
			c.By = r.at()
		case 10:
			c.Silent = r.bool()
		case 11:
			c.Worked = r.bool()
		case 12:
			c.Agent = r.text()
		case 13:
			c.Attempts = int(r.int())
		case 14:
			c.To = r.at()
		case 15:
			c.InHand = r.bool()
		case 16:
			c.Gone = r.at()
		}
	}
}

func readCompleted(r *reader, c *lifecycle.Completed) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			c.Stated = r.at()
		case 2:
			c.At = r.at()
		case 3:
			c.Key = r.text()
		case 4:
			c.Seq = r.uint()
		}
	}
}

func writeStep(w *writer, s *lifecycle.StepFacts) {
	w.text(1, s.Tool)
	w.text(2, s.Input)
	for _, id := range s.Steps {
		w.element(3, id)
	}
	w.at(4, s.At)
	w.at(5, s.Last)
}

func readStep(r *reader, s *lifecycle.StepFacts) {
	for field := r.next(); field != 0; field = r.next() {
		switch field {
		case 1:
			s.Tool = r.text()
		case 2:
			s.Input = r.text()
		case 3:
			s.Steps = append(s.Steps, r.text())
		case 4:
			s.At = r.at()
		case 5:
			s.Last = r.at()
		}
	}
}
