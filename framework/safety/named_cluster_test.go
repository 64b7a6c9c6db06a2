package disturb

import "testing"

func TestNamedCluster(t *testing.T) {
	refuses(t, namedCluster, map[string]try{
		"another cluster":          {change: func(w *world) { w.UID = "cluster-2" }, reason: "for the cluster with the UID cluster-2, and this one has cluster-1"},
		"the file names none":      {change: func(w *world) { w.UID = "" }, reason: "the file names no cluster"},
		"the UID cannot be read":   {change: func(w *world) { w.Cluster.UID = "" }, reason: "could not be read"},
		"neither has one":          {change: func(w *world) { w.UID, w.Cluster.UID = "", "" }, reason: "could not be read"},
		"the current context":      {change: func(w *world) { w.Context = "" }, reason: "the current one may be any cluster"},
		"its UID in another case":  {change: func(w *world) { w.UID = "CLUSTER-1" }, reason: "and this one has cluster-1"},
		"another name of the same": {change: func(w *world) { w.Context = "alias" }},
	})
}
