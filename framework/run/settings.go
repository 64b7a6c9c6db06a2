package run

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/hold"
	"github.com/holdfast-ha/holdfast/framework/interrupt"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Settings say how a run goes about its scenarios.
type Settings struct {
	// RunID names the run, Started is when it began; Dir is where its record goes.
	RunID   string
	Started time.Time
	Dir     string
	// Version of the harness, Seed of all randomness, and the command that reproduces a scenario, or the run where none
	// is named.
	Version   string
	Seed      uint64
	Args      []string // of the command line
	Reproduce func(scenario, kubernetes string) string
	// Incident is what the scenarios retell; nil: none.
	Incident *history.Incident
	// Kubernetes overrides the version of every scenario's cluster, Profile its timings, ProxyMode kube-proxy's mode; empty leaves them.
	Kubernetes string
	Profile    clusters.ProfileName
	ProxyMode  clusters.ProxyMode
	// LeaderElection has every cluster's controllers elect a leader; see clusters.Spec.
	LeaderElection bool
	// Open finds or makes a cluster. It may return one that exists already.
	Open func(ctx context.Context, name string, spec clusters.Spec) (clusters.Cluster, error)
	// Close gives a cluster back that is no longer needed, or is broken.
	Close func(ctx context.Context, c clusters.Cluster) error
	// Describe says what a cluster really runs, for the record.
	Describe func(c clusters.Cluster) ClusterFacts
	// Executable is the static holdfast binary that goes into the cluster as an image; CacheDir keeps that image.
	Executable string
	CacheDir   string
	// Compile makes the program of an add-on, or finds it made, and says where it lies. Only scenarios with add-ons need
	// it.
	Compile func(ctx context.Context, p workloads.Program) (path string, err error)
	// KeepLogs collects node and pod logs after every scenario, not only after one that did not hold.
	KeepLogs bool
	// Cluster is the one that all scenarios use, and that stays; empty: clusters are made, and removed again.
	Cluster string
	// Keep says that Close keeps the clusters that were made.
	Keep bool
	// Hold takes a cluster for this run alone; nil: nobody else can reach the clusters.
	Hold func(ctx context.Context, c clusters.Cluster) (*hold.Hold, error)
	// Interrupt is what may interrupt the run, and hears what is to be undone; nil: nothing may.
	Interrupt *interrupt.Process
	// LeaveBroken undoes nothing and clears nothing away where a fault fails, so that somebody can look at it. Close must know, too.
	// Who interrupts wants it cleared away all the same.
	LeaveBroken bool
	Progress    *Progress
	// Judged hears of each scenario that was judged, once that is in run.json; nil: nobody does.
	Judged func()
}

// ClusterFacts are what a provider knows of a cluster beyond its Spec.
type ClusterFacts struct {
	Provider, Engine, Image, Kubernetes string
	// Balancer is the program before several control planes; empty where there is none, or nobody knows.
	Balancer string
}

// Needs is the cluster of a scenario with what the run asks of every cluster.
func (s Settings) Needs(c clusters.Spec) clusters.Spec {
	if s.Kubernetes != "" {
		c.Kubernetes = s.Kubernetes
	}
	if s.Profile != "" {
		c.Profile = s.Profile
	}
	if s.ProxyMode != "" {
		c.ProxyMode = s.ProxyMode
	}
	c.LeaderElection = c.LeaderElection || s.LeaderElection
	return c.WithDefaults()
}

func (s Settings) validate() error {
	if s.Dir == "" || s.RunID == "" || s.Open == nil || s.Close == nil || s.Describe == nil || s.Executable == "" ||
		s.Reproduce == nil || s.Progress == nil {
		return errors.New("start run: its settings are incomplete")
	}
	return nil
}

// clusterName is short, because a node's name begins with it: the run's moment in base 36, to the millisecond, so that
// runs side by side do not meet, and a number from the second cluster on.
func (s Settings) clusterName(made int) string {
	name := strconv.FormatInt(s.Started.UnixMilli(), 36)
	if made > 1 {
		name += "-" + strconv.Itoa(made)
	}
	return name
}
