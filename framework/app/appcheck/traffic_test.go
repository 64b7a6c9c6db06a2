package appcheck_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/appcheck"
)

// What a Service says and the requests cannot meet is noted, each in a line, and what lets no request through is refused. Of a Service that is not
// asked, the application's own pods may meet all of it.
func TestWhatRequestsDoNotMeet(t *testing.T) {
	const (
		ofType  = "type: requests are sent to its cluster IP, and not to its node ports or a load balancer's address: say from: outside at the probe"
		outside = "externalTrafficPolicy: it is for clients outside of the cluster, and requests are sent from inside, so that nothing is shown about it: ask its node ports: say from: outside at the probe, and of a load balancer have the number of the node port in the URL"
		sticky  = "sessionAffinity: each load worker has one address, so that one pod gets all its requests: use --load-workers 8 for eight addresses"
		zoned   = "trafficDistribution: requests are sent from a node without a zone, and go to all pods, so that nothing is shown about it: give the URL of a workload that sends requests to it"
		oneNode = "sessionAffinity: what comes to node ports has the address of the load node, so that one pod gets all of it: ask its cluster IP, too"
		dropped = "internalTrafficPolicy: requests are sent from a node without a pod of the application, and kube-proxy drops them there: " +
			"give the URL of a workload that sends requests to it, or leave the field out for the test"
	)
	for name, test := range map[string]struct {
		spec                string
		stops, notes, entry []string // entry: notes where it is the entry of an Ingress, or asked at the address of its load balancer
		nodes               []string // notes where it is asked at its node ports
	}{
		"nothing":                     {spec: "ports: [{port: 80}]"},
		"the defaults, written out":   {spec: "type: ClusterIP, sessionAffinity: None, internalTrafficPolicy: Cluster"},
		"node ports":                  {spec: "type: NodePort, externalTrafficPolicy: Cluster", notes: []string{ofType}},
		"node ports of its own pods":  {spec: "type: NodePort, externalTrafficPolicy: Local", notes: []string{ofType, outside}, entry: []string{outside}},
		"a load balancer":             {spec: "type: LoadBalancer, externalTrafficPolicy: Local", notes: []string{ofType, outside}, entry: []string{outside}},
		"one client, one pod":         {spec: "sessionAffinity: ClientIP", notes: []string{sticky}, entry: []string{sticky}, nodes: []string{oneNode}},
		"pods of one's own zone":      {spec: "trafficDistribution: PreferClose", notes: []string{zoned}, entry: []string{zoned}, nodes: []string{zoned}},
		"pods of one's own node":      {spec: "internalTrafficPolicy: Local", stops: []string{dropped}},
		"all, in the order of fields": {spec: "trafficDistribution: PreferSameNode, sessionAffinity: ClientIP, internalTrafficPolicy: Local, type: NodePort", stops: []string{dropped}, notes: []string{ofType, sticky, zoned}, entry: []string{sticky, zoned}, nodes: []string{oneNode, zoned}},
	} {
		t.Run(name, func(t *testing.T) {
			a := read(t, web(container(""))+object("v1", "Service", "web", "spec: {"+test.spec+"}"), "")
			const at = "shop/web"
			for what, want := range map[string]struct {
				asked        map[string]appcheck.Way
				stops, notes []string
			}{
				"at its cluster IP":  {map[string]appcheck.Way{at: appcheck.AtClusterIP}, test.stops, test.notes},
				"as an entry":        {map[string]appcheck.Way{at: appcheck.AtEntry}, nil, test.entry},
				"at its balancer":    {map[string]appcheck.Way{at: appcheck.AtBalancer}, nil, test.entry},
				"at its node ports":  {map[string]appcheck.Way{at: appcheck.AtNodePorts}, nil, test.nodes},
				"not":                {nil, nil, nil},
				"of another place":   {map[string]appcheck.Way{"other/web": appcheck.AtClusterIP}, nil, nil},
				"another of its own": {map[string]appcheck.Way{"shop/db": appcheck.AtClusterIP}, nil, nil},
			} {
				p := plan(t)
				p.Asked = want.asked
				stops, notes := found(appcheck.Check(a, p))
				for _, list := range [][]string{stops, notes} {
					for i := range list {
						list[i] = strings.TrimPrefix(list[i], "Service web: spec.")
					}
				}
				if diff := cmp.Diff(want.stops, stops) + cmp.Diff(want.notes, notes); diff != "" {
					t.Errorf("asked %s: what is refused and noted (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}

// A Service that one probe asks inside of the cluster and another from outside is met in both ways; a node that drops what pods send is refused as before.
func TestAServiceIsAskedInTwoWays(t *testing.T) {
	a := read(t, web(container(""))+object("v1", "Service", "web", "spec: {type: NodePort, externalTrafficPolicy: Local, internalTrafficPolicy: Local}"), "")
	p := plan(t)
	p.Asked = map[string]appcheck.Way{"shop/web": appcheck.AtClusterIP | appcheck.AtNodePorts}
	if stops, notes := found(appcheck.Check(a, p)); len(stops) != 1 || !strings.Contains(stops[0], "internalTrafficPolicy") || len(notes) > 0 {
		t.Errorf("refused %q, noted %q", stops, notes)
	}
}

// Topology-aware routing was an annotation first. Its line is that of the annotation.
func TestRequestsDoNotMeetTopologyHints(t *testing.T) {
	a := read(t, web(container(""))+"apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n  annotations:\n    service.kubernetes.io/topology-mode: MODE\n", "")
	for mode, want := range map[string]int{"Auto": 1, "Disabled": 0} {
		for i, m := range a.Manifests {
			if m.Object.GetKind() == "Service" {
				a.Manifests[i].Object.SetAnnotations(map[string]string{"service.kubernetes.io/topology-mode": mode})
			}
		}
		p := plan(t)
		p.Asked = map[string]appcheck.Way{"shop/web": appcheck.AtClusterIP}
		notes := appcheck.Check(a, p).Notes()
		if len(notes) != want || want > 0 && !strings.Contains(notes[0], "app.yaml:18): metadata.annotations.service.kubernetes.io/topology-mode: requests are sent from a node without a zone") {
			t.Errorf("%s: notes %q", mode, notes)
		}
	}
}
