package disturb

var noSecrets = Rule{
	Number: 6, ID: "no-secrets", Beyond: true,
	Promise: "no Role has a verb on Secrets, and no Secret of the application is mounted",
	Where:   "framework/safety/roles",
	run: func(s *sight) {
		for _, l := range s.Load {
			if l.Secret {
				s.refuse(s.namespace(s.Namespace), "use a probe that needs no Secret, such as a health check",
					"probe %s has a header from a Secret, and the load workers are in namespace %s, where that Secret is not", l.Name, s.Home)
			}
		}
	},
}
