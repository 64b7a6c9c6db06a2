package reports

// UpperBound95 is the share that may still be bad although none of n was: the 95 % upper bound of a share of which
// nothing was seen, 3/n (the rule of three: 0.95 = 1 - (1-p)^n gives p = 3/n, nearly). 1 when n is 3 or less: so few
// say nothing. It takes the n for independent; requests of one disruption are not, so the bound over disruptions is the
// one to go by, and reports give both.
func UpperBound95(n uint64) float64 {
	const ruleOfThree = 3
	if n <= ruleOfThree {
		return 1
	}
	return ruleOfThree / float64(n)
}
