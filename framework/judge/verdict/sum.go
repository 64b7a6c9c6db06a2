package verdict

// Overall adds verdicts up: Violated beats Unknown, and Unknown beats Held. Promises that were not tested do not count, unless none was.
// No verdicts at all are Unknown.
func Overall(verdicts []Verdict) Outcome {
	var outcomes []Outcome
	for i := range verdicts {
		if v := &verdicts[i]; !v.Untested || v.Outcome != Unknown {
			outcomes = append(outcomes, v.Outcome)
		}
	}
	return Sum(outcomes...)
}

// Sum adds outcomes up: Violated beats Unknown, and Unknown beats Held. No outcomes are Unknown, and so is any other word, such as
// one that a later version writes.
func Sum(outcomes ...Outcome) Outcome {
	sum := Held
	if len(outcomes) == 0 {
		sum = Unknown
	}
	for _, o := range outcomes {
		switch o {
		case Held:
		case Violated:
			return Violated
		default:
			sum = Unknown
		}
	}
	return sum
}
