// Package clustertest is a cluster in memory for tests: an API server with controllers that act at once, and nodes that can be
// killed, paused and started. It replaces a cluster wherever code takes a clusters.Cluster, a rest.Config or a client.
//
//	c := clustertest.New("demo", clusters.Spec{Zones: []string{"a", "b"}, WorkersPerZone: 2})
//	client, err := kubernetes.NewForConfig(c.Config())
//	c.Node("wa1").SetState(clusters.Paused)
//
// Time is that of the test. Nothing in this package uses a network or waits by itself, so that a test in a synctest bubble
// has the bubble's clock, and hours pass in microseconds.
//
// The fields of API, Cluster and Node make them fail: refuse requests, accept and ignore them, lose the engine. The package
// does not imitate Kubernetes' timing or its scheduling rules; real clusters prove those.
package clustertest
