package appfile

import (
	"errors"
	"fmt"
	"time"

	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// Cluster names a cluster that holdfast did not make.
type Cluster struct {
	UID string `yaml:"uid"` // that of its namespace kube-system: kubectl get namespace kube-system -o jsonpath={.metadata.uid}
}

// Disturb bounds what is done to a cluster that holdfast did not make.
type Disturb struct {
	Pods          *int           `yaml:"pods"`          // how many pods of a workload may be away at a time; default: 1
	Duration      *time.Duration `yaml:"duration"`      // how long each fault may last before it is undone, at most 2h for all of them together; default: 5m
	Failures      *int           `yaml:"failures"`      // how many requests may fail during a fault, which is then undone at once; default: 50
	Window        *Window        `yaml:"window"`        // when it may be done; default: at any time
	Neighbours    []string       `yaml:"neighbours"`    // namespaces whose pods may be evicted from a node that is drained
	ScaleVolumes  []string       `yaml:"scaleVolumes"`  // StatefulSets that may be scaled although they have volumeClaimTemplates: the volumes of one replica more stay
	TrustRegistry bool           `yaml:"trustRegistry"` // images can be pulled again, so they need not be on another node
	Before        string         `yaml:"before"`        // a command of the shell that runs on this machine before the first fault, without a terminal and for 10m at most; what it leaves running ends with it; if it fails, nothing is done
	After         string         `yaml:"after"`         // a command of the shell that runs on this machine after the last fault was undone, as before
	NodeKill      *NodeKill      `yaml:"nodeKill"`      // how a node is taken away, for the fault node-kill
}

// Window is when a cluster may be disturbed.
type Window struct {
	Days []string `yaml:"days"` // Mon, Tue, Wed, Thu, Fri, Sat, Sun; default: every day
	From string   `yaml:"from"` // such as 09:00
	To   string   `yaml:"to"`   // such as 16:30, later than from
	Zone string   `yaml:"zone"` // such as Europe/Berlin; default: UTC
}

// NodeKill are commands of the shell that run on this machine, with the name of the node in $NODE.
type NodeKill struct {
	Command string `yaml:"command"` // takes the node away, without a terminal and within 2m; what it leaves running ends with it
	Undo    string `yaml:"undo"`    // brings it back
}

// Disturbance is what the file says about a cluster that holdfast did not make. It has no namespace and no workloads yet.
func (f File) Disturbance() (r disturb.Request, err error) {
	names := f.Faults
	if len(names) == 0 {
		names = catalogue.Defaults
	}
	if r.Faults, err = catalogue.Named(names); err != nil {
		return r, err
	}
	r.UID = f.Cluster.UID
	if f.Disturb == nil {
		r.Limits = r.Limits.WithDefaults()
		return r, nil
	}
	r.Limits, err = f.Disturb.limits()
	if n := f.Disturb.NodeKill; n != nil {
		r.Hook = disturb.Hook{Command: n.Command, Undo: n.Undo}
	}
	return r, err
}

// limits are the limits of the file. A number that would allow nothing is an error, and not the default.
func (d Disturb) limits() (l disturb.Limits, err error) {
	l.Neighbours, l.ScaleVolumes, l.TrustRegistry = d.Neighbours, d.ScaleVolumes, d.TrustRegistry
	var errs []error
	if d.Pods != nil {
		if l.Pods = *d.Pods; l.Pods < 1 {
			errs = append(errs, fmt.Errorf("disturb.pods: %d: want at least 1", l.Pods))
		}
	}
	if d.Failures != nil {
		if l.Failures = *d.Failures; l.Failures < 1 {
			errs = append(errs, fmt.Errorf("disturb.failures: %d: want at least 1", l.Failures))
		}
	}
	if d.Duration != nil {
		if l.Duration = *d.Duration; l.Duration < disturb.MinDuration || l.Duration > disturb.MaxDuration {
			errs = append(errs, fmt.Errorf("disturb.duration: %s: want %s to %s", l.Duration, disturb.MinDuration, disturb.MaxDuration))
		}
	}
	if w := d.Window; w != nil {
		l.Window = &disturb.Window{Days: w.Days, From: w.From, To: w.To, Zone: w.Zone}
		if err := l.Window.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("disturb.%w", err))
		}
	}
	if n := d.NodeKill; n != nil && (n.Command == "") != (n.Undo == "") {
		errs = append(errs, errors.New("disturb.nodeKill: want both, command and undo"))
	}
	return l.WithDefaults(), errors.Join(errs...)
}
