package noise

import (
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Every is the sampling interval.
const Every = time.Second

// Sample is a history.Noise with its time.
type Sample struct {
	At history.Offset `json:"at"`
	history.Noise
}

// Event is the sample as a history event.
func (s Sample) Event() history.Event { return history.Event{T: s.At, Noise: &s.Noise} }

// Start samples this process and its machine, under the name of, until stop is called. stop takes the last sample, and returns
// after keep has received it. keep is never called concurrently. Nodes are sampled, too, unless they are nil.
func Start(of string, nodes *Nodes, now func() history.Offset, keep func(Sample)) (stop func()) {
	return start(os.DirFS("/"), of, nodes, now, keep)
}

func start(root fs.FS, of string, nodes *Nodes, now func() history.Offset, keep func(Sample)) (stop func()) {
	over := make(chan struct{})
	e := &sampler{root: root, of: of, now: now, keep: keep, groups: newGroups(root, nodes), machine: readMachine(root, now)}
	var done sync.WaitGroup
	done.Go(func() { e.stallMeter.run(over) })
	done.Go(func() { e.run(over) })
	return sync.OnceFunc(func() {
		close(over)
		done.Wait()
	})
}

// sampler is the state of one Start call.
type sampler struct {
	root fs.FS
	of   string
	now  func() history.Offset
	keep func(Sample)

	stallMeter stallMeter
	machine    machine
	groups     *groups // nil: no nodes are sampled
}

func (e *sampler) run(over <-chan struct{}) {
	tick := time.NewTicker(Every)
	defer tick.Stop()
	for {
		select {
		case <-over:
			e.keep(e.sample())
			return
		case <-tick.C:
			e.keep(e.sample())
		}
	}
}

// sample is what happened since the previous sample.
func (e *sampler) sample() Sample {
	machine := readMachine(e.root, e.now)
	s := Sample{At: machine.at, Noise: history.Noise{Of: e.of, Since: e.machine.at, Pause: e.stallMeter.take()}}
	machine.since(e.machine, &s.Noise)
	if e.groups != nil {
		s.Groups = e.groups.since(machine.at - e.machine.at)
	}
	e.machine = machine
	return s
}
