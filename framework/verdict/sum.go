package verdict

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
