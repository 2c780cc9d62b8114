package dlqtriage

// PlanDiff says what a retry by the plan would change in a payload; nothing where nothing can be written into it.
func PlanDiff(payload []byte, c Case, p Plan) []Difference {
	r := Rewrite{Modifications: p.Modifications}
	if p.TargetModel != c.Model {
		r.Model = p.TargetModel
	}
	if p.TargetAgent != c.Agent && p.Strategy != StrategyEscalate {
		r.Agent = p.TargetAgent
	}
	_, diff, err := ModifyPayload(payload, r)
	if err != nil {
		return nil
	}
	return diff
}
