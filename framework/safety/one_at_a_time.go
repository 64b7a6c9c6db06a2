package disturb

var oneAtATime = Rule{
	Number: 18, ID: "one-at-a-time",
	Promise: "one run at a time uses a cluster, by a Lease; a second one is told whose it is",
	needs:   []string{"leases"},
	Where:   "framework/fault/hold",
	run: func(s *sight) {
		if s.Holder != "" {
			s.refuse(s.cluster(), "wait until it ends, or run 'holdfast heal' if it is gone", "%s", s.Holder)
		}
	},
}
