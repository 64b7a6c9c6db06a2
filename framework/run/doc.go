// Package run runs scenarios on real clusters: see runner.story. For each scenario it creates a cluster or reuses the last one,
// deploys the workload, injects the faults while load flows, reverts them, collects what was observed, judges the record and
// removes the workload. An interrupted run is continued by Resume.
//
// It knows neither how a cluster is created (package clusters), nor what a fault does (fault), nor what a promise means
// (invariant). It is the only importer of Ginkgo.
package run
