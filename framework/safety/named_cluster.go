package disturb

var namedCluster = Rule{
	Number: 1, ID: "named-cluster", Beyond: true,
	Promise: "the file names the cluster by the UID of its namespace kube-system, and nothing is written with the current context",
	run:     checkNamedCluster,
}

func checkNamedCluster(s *sight) {
	if s.Context == "" {
		s.refuse(s.cluster(), "name the cluster with --context", "no context is named, and the current one may be any cluster")
	}
	switch {
	case s.Cluster.UID == "":
		s.refuse(s.cluster(), "let the user get the namespace kube-system", "the UID of its namespace kube-system could not be read")
	case s.UID == "":
		s.refuse(s.cluster(), "if this is the cluster that you mean, add to the file: cluster: {uid: "+s.Cluster.UID+"}", "the file names no cluster")
	case s.UID != s.Cluster.UID:
		s.refuse(s.cluster(), "name the context of that cluster, or use the file of this one",
			"the file is for the cluster with the UID %s, and this one has %s", s.UID, s.Cluster.UID)
	}
}
