package appcheck

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

const (
	notShown   = "so that nothing is shown about it"
	noZone     = "requests are sent from a node without a zone, and go to all pods, " + notShown
	askOutside = "test it with a client outside of the cluster"
	askThrough = "give the URL of a workload that sends requests to it"
)

// unmet are fields of a Service that change nothing for requests from the load node, so that a verdict says nothing about them. The node has no
// zone and no pod of the application.
var unmet = []struct {
	field       []string
	values      []string // for which it is so; none: for each
	clusterIP   bool     // it is so only for requests to the cluster IP
	stops       bool     // no request is answered
	cause, next string
}{
	{[]string{"spec", "type"}, []string{"NodePort", "LoadBalancer"}, true, false, "requests are sent to its cluster IP, and not to its node ports or a load balancer's address", askOutside},
	{[]string{"spec", "externalTrafficPolicy"}, []string{"Local"}, false, false, "it is for clients outside of the cluster, and requests are sent from inside, " + notShown, askOutside},
	{[]string{"spec", "internalTrafficPolicy"}, []string{"Local"}, true, true, "requests are sent from a node without a pod of the application, and kube-proxy drops them there", askThrough + ", or leave the field out for the test"},
	{[]string{"spec", "sessionAffinity"}, []string{"ClientIP"}, false, false, "each load worker has one address, so that one pod gets all its requests", "use --load-workers 8 for eight addresses"},
	{[]string{"spec", "trafficDistribution"}, nil, false, false, noZone, askThrough},
	{[]string{"metadata", "annotations", "service.kubernetes.io/topology-mode"}, []string{"Auto", "auto"}, false, false, noZone, askThrough},
}

// traffic finds what of a Service that is asked the requests do not meet.
func (c *checker) traffic(m app.Manifest) {
	atClusterIP, asked := c.plan.Asked[m.Object.GetNamespace()+"/"+m.Object.GetName()]
	for _, u := range unmet {
		value, _, _ := unstructured.NestedString(m.Object.Object, u.field...)
		if !asked || value == "" || len(u.values) > 0 && !slices.Contains(u.values, value) || u.clusterIP && !atClusterIP {
			continue
		}
		var path []any
		for _, step := range u.field {
			path = append(path, step)
		}
		c.found = append(c.found, Finding{m, path, u.cause, u.next, u.stops})
	}
}
