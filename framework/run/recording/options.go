package recording

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// The usual times of a recording.
const (
	// DefaultBefore is how long the cluster is recorded before a command begins: the promises compare with that time, and need a hundred
	// requests on each lane.
	DefaultBefore = 20 * time.Second
	// DefaultRecover is how long a workload may take to recover.
	DefaultRecover = 5 * time.Minute
	// DefaultSettled is how long every workload must have been settled before a recording ends by itself: promises judge so long a time after
	// a disturbance.
	DefaultSettled = 35 * time.Second
	// Rate is that of each lane, in requests a second, unless a probe says another: load on somebody else's application is a fault, too.
	Rate = 10
)

// Options say what is recorded.
type Options struct {
	// Access is the way to the cluster.
	Access *existing.Access
	// Namespaces are those whose objects are watched, and that are judged; none: all.
	Namespaces []string
	// Probes are the requests that show whether the applications serve; none: no load is sent.
	Probes []apptest.Probe
	// Behind are the Services behind which all requests end, as namespace/name, where the cluster's objects do not tell.
	Behind []string
	// From is where the load is sent from; empty: from where holdfast runs.
	From history.LoadFrom
	// Inside makes the load workers in the cluster, if From says so.
	Inside Inside

	// Command is run by the body, and For is how long the body waits: for the record.
	Command []string
	For     time.Duration
	// Before is how long the cluster is recorded before the body begins, and Recover how long its workloads may take to recover after it.
	Before, Recover time.Duration
	// Settled is how long every workload must have been settled before the recording ends; 0: DefaultSettled.
	Settled time.Duration
	// Promises replace the usual ones.
	Promises []invariant.Invariant
	// Class decides which promise applies to everything in the recording: of what is voluntary no request may fail, not even those to pods and nodes that
	// are lost without notice; of what is involuntary only the victims' share may. Zero: the promise of each disturbance is that of its kind.
	Class apptest.Class
	// Promised is what is promised of the probes' requests.
	Promised apptest.Promises
	// Does is that of the record: the kinds of disturbances of which the body makes one for holdfast, with their object; none: it disturbs nothing. What it did
	// is read from the record like everything else.
	Does []string

	// Run identifies the run that the record belongs to.
	Run Run
	// Say writes a line for the user.
	Say func(format string, args ...any)
}

// Run identifies a run, and says where its record is.
type Run struct {
	ID       string
	Dir      string // the folder of the run; that of the record has the scenario's name below it
	Scenario string // for example record/shop
	Claim    string
	Holdfast string // version
	Seed     uint64
	Args     []string
	Again    string // the command that does the same again
	// Chosen are the scenarios of the run, if it has others: until it has a result of each it is not whole.
	Chosen []runfolder.Chosen
	// Before are the results of those that came before this one.
	Before []runfolder.ScenarioResult
}

func (o *Options) fill() error {
	o.Before = cmp.Or(o.Before, DefaultBefore)
	o.Recover = cmp.Or(o.Recover, DefaultRecover)
	o.Settled = cmp.Or(o.Settled, DefaultSettled)
	if len(o.Probes) > 0 && o.From == "" {
		o.From = history.LoadOutside
	}
	switch {
	case o.Access == nil || o.Run.Dir == "" || o.Run.ID == "" || o.Run.Scenario == "" || o.Say == nil:
		return errors.New("start a recording: its options are incomplete")
	case len(o.Probes) == 0 && (o.From != "" || len(o.Behind) > 0):
		return errors.New("load without probes: name a URL with --url, or a file with probes")
	case o.inside() && o.Inside == nil:
		return errors.New("load from inside of the cluster: nothing makes its workers")
	}
	return nil
}

// CheckProbes returns an error for probes that cannot be sent to a cluster that holdfast did not make.
func CheckProbes(probes []apptest.Probe) error {
	for _, p := range probes {
		if err := p.Check("shop"); err != nil {
			return err
		}
		if p.Outside {
			return fmt.Errorf("probe %s: from: outside is for a cluster that holdfast makes: give the URL that clients outside of yours have", p.Name)
		}
		if len(p.Request.FromSecret) > 0 {
			return fmt.Errorf("probe %s: its header comes from a Secret, which holdfast does not read: give the probe another way to be let in", p.Name)
		}
	}
	return nil
}

// CheckBehind returns an error for Services that are not named as Behind wants them.
func CheckBehind(services []string) error {
	for _, s := range services {
		if namespace, name, is := strings.Cut(s, "/"); !is || namespace == "" || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("--behind %s: want NAMESPACE/NAME of a Service", s)
		}
	}
	return nil
}

func (o *Options) inside() bool  { return o.From == history.LoadInside || o.From == history.LoadBoth }
func (o *Options) outside() bool { return o.From == history.LoadOutside || o.From == history.LoadBoth }
