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

// Listen samples this process and its machine under the name of, until stop is called. stop takes the last sample, and returns
// after keep has received it. keep is never called concurrently.
func Listen(of string, now func() history.Offset, keep func(Sample)) (stop func()) {
	return listen(os.DirFS("/"), of, now, keep)
}

func listen(root fs.FS, of string, now func() history.Offset, keep func(Sample)) (stop func()) {
	over := make(chan struct{})
	e := &ear{root: root, of: of, now: now, keep: keep, since: now(), pauses: newPauses(), machine: readMachine(root, time.Now())}
	var done sync.WaitGroup
	done.Go(func() { e.metronome.run(over) })
	done.Go(func() { e.run(over) })
	return sync.OnceFunc(func() {
		close(over)
		done.Wait()
	})
}

// ear is the state of one Listen call.
type ear struct {
	root fs.FS
	of   string
	now  func() history.Offset
	keep func(Sample)

	since     history.Offset
	metronome metronome
	pauses    *pauses
	machine   machine
}

func (e *ear) run(over <-chan struct{}) {
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
func (e *ear) sample() Sample {
	s := Sample{At: e.now(), Noise: history.Noise{Of: e.of, Since: e.since, Pause: e.metronome.take()}}
	s.GC, s.Sched = e.pauses.longest()
	machine := readMachine(e.root, time.Now())
	machine.since(e.machine, &s.Noise)
	e.machine, e.since = machine, s.At
	return s
}
