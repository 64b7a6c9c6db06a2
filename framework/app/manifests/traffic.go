package manifests

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

const (
	notShown   = "so that nothing is shown about it"
	noZone     = "requests are sent from a node without a zone, and go to all pods, " + notShown
	askOutside = "say from: outside at the probe"
	askNodes   = "ask its node ports: say from: outside at the probe, and of a load balancer have the number of the node port in the URL"
	askThrough = "give the URL of a workload that sends requests to it"
)

const anyWay = AtEntry | AtClusterIP | AtNodePorts | AtBalancer

// unmet are fields of a Service that change nothing for requests from the load node, so that a verdict says nothing about them. The node has no
// zone and no pod of the application.
var unmet = []struct {
	field       []string
	values      []string // for which it is so; none: for each
	of, not     Way      // it is so only of Services that are asked in the one way, unless they are asked in another way as well
	stops       bool     // no request is answered
	cause, next string
}{
	{[]string{"spec", "type"}, []string{"NodePort", "LoadBalancer"}, AtClusterIP, AtNodePorts | AtBalancer, false, "requests are sent to its cluster IP, and not to its node ports or a load balancer's address", askOutside},
	{[]string{"spec", "externalTrafficPolicy"}, []string{"Local"}, anyWay, AtNodePorts, false, "it is for clients outside of the cluster, and requests are sent from inside, " + notShown, askNodes},
	{[]string{"spec", "internalTrafficPolicy"}, []string{"Local"}, AtClusterIP, 0, true, "requests are sent from a node without a pod of the application, and kube-proxy drops them there", askThrough + ", or leave the field out for the test"},
	{[]string{"spec", "sessionAffinity"}, []string{"ClientIP"}, anyWay &^ AtNodePorts, 0, false, "each load worker has one address, so that one pod gets all its requests", "use --load-workers 8 for eight addresses"},
	{[]string{"spec", "sessionAffinity"}, []string{"ClientIP"}, AtNodePorts, 0, false, "what comes to node ports has the address of the load node, so that one pod gets all of it", "ask its cluster IP, too"},
	{[]string{"spec", "trafficDistribution"}, nil, anyWay, 0, false, noZone, askThrough},
	{[]string{"metadata", "annotations", "service.kubernetes.io/topology-mode"}, []string{"Auto", "auto"}, anyWay, 0, false, noZone, askThrough},
}

// traffic finds what of a Service that is asked the requests do not meet.
func (c *checker) traffic(m app.Manifest) {
	way := c.plan.Asked[m.Object.GetNamespace()+"/"+m.Object.GetName()]
	for _, u := range unmet {
		value, _, _ := unstructured.NestedString(m.Object.Object, u.field...)
		if value == "" || len(u.values) > 0 && !slices.Contains(u.values, value) || way&u.of == 0 || way&u.not != 0 {
			continue
		}
		var path []any
		for _, step := range u.field {
			path = append(path, step)
		}
		c.found = append(c.found, Finding{m, path, u.cause, u.next, u.stops})
	}
}
