package disturb

var gentleLoad = Rule{
	Number: 19, ID: "gentle-load",
	Promise: "the load is small until the file asks for more: 10 requests a second on each lane, with a User-Agent and X-Holdfast-Run, and none after an answer 429",
	Where:   "framework/run/recording",
	run: func(s *sight) {
		for _, l := range s.Load {
			if l.Rate > GentleRate && !l.Asked {
				s.refuse(s.namespace(s.Namespace), "say rate in the file", "lane %s would send %g requests a second, and the file does not say so", l.Name, l.Rate)
			}
		}
	},
}
