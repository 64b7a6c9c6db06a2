package noise

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// files creates a root file system.
func files(contents map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, content := range contents {
		root[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return root
}

func TestMachine(t *testing.T) {
	before := map[string]string{
		"proc/stat":         "cpu  100 0 100 680 20 0 0 100 50 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n",
		"proc/pressure/cpu": "some avg10=1.00 avg60=1.00 avg300=1.00 total=1000000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n",
	}
	after := map[string]string{
		"proc/stat":         "cpu  150 0 100 695 15 0 0 140 99 0\n",
		"proc/pressure/cpu": "some avg10=1.00 avg60=1.00 avg300=1.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=9000000\n",
	}
	for _, test := range []struct {
		name                string
		stat, before, after string // an additional file
		want                time.Duration
	}{
		{name: "no control group"},
		{"version 2", "sys/fs/cgroup/cpu.stat", "usage_usec 9\nthrottled_usec 1000\n", "usage_usec 99\nthrottled_usec 251000\n", 250 * time.Millisecond},
		{"version 1", "sys/fs/cgroup/cpu/cpu.stat", "nr_throttled 2\nthrottled_time 5\n", "nr_throttled 3\nthrottled_time 30000005\n", 30 * time.Millisecond},
		{"version 1, its other name", "sys/fs/cgroup/cpu,cpuacct/cpu.stat", "throttled_time 0\n", "throttled_time 7\n", 7},
		{"a recreated cgroup", "sys/fs/cgroup/cpu.stat", "throttled_usec 1000\n", "throttled_usec 0\n", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			first, then := files(before), files(after)
			if test.stat != "" {
				first[test.stat] = &fstest.MapFile{Data: []byte(test.before)}
				then[test.stat] = &fstest.MapFile{Data: []byte(test.after)}
			}
			var got history.Noise
			readMachine(then, at(2*time.Second)).since(readMachine(first, at(0)), &got)
			want := history.Noise{
				Steal: 0.4, Used: 0.9, Throttled: test.want, // 40 and 90 of 100 ticks, without the guest columns
				CPU: 0.75,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("noise (-want +got):\n%s", diff)
			}
		})
	}
}

// at is a clock that stands still.
func at(moment history.Offset) func() history.Offset { return func() history.Offset { return moment } }

// counting is a machine whose processors tick once whenever their counters are read.
type counting struct{ ticks int }

func (c *counting) Open(name string) (fs.File, error) {
	stat := fstest.MapFS{}
	if name == "proc/stat" {
		c.ticks++
		stat[name] = &fstest.MapFile{Data: fmt.Appendf(nil, "cpu  %d 0 0 0 0 0 0 0 0 0\n", c.ticks)}
	}
	return stat.Open(name)
}

// A process that is kept from running while it reads the counters reads them again, so that they are of the moment that it notes.
func TestMachineThatStandsStill(t *testing.T) {
	for stops, want := range map[int]uint64{0: 1, 1: 2, 2: 3, 99: readings} {
		var clock history.Offset
		calls := 0
		got := readMachine(&counting{}, func() history.Offset {
			if calls++; calls%2 == 0 && calls/2 <= stops {
				clock += time.Second
			}
			return clock
		})
		if got.ticks.all != want || got.at != clock {
			t.Errorf("stopped %d times, it has reading %d, of %s; want %d, of %s", stops, got.ticks.all, got.at, want, clock)
		}
	}
}

// On a machine that is never idle, all time is used, even if the kernel takes back some in which it waited for input or output.
func TestMachineThatIsNeverIdle(t *testing.T) {
	read := func(stat string, second history.Offset) machine {
		return readMachine(files(map[string]string{"proc/stat": stat}), at(second*time.Second))
	}
	var got history.Noise
	read("cpu  200 0 0 700 15 0 0 0 0 0\n", 2).since(read("cpu  100 0 0 700 20 0 0 0 0 0\n", 1), &got)
	if got.Used != 1 {
		t.Errorf("%v of the time was used", got.Used)
	}
}

// A kernel that provides no counters, or provides them in an unknown format, yields zero noise and no panic.
func TestMachineThatDoesNotTell(t *testing.T) {
	for name, root := range map[string]fstest.MapFS{
		"nothing": {},
		"garbage": files(map[string]string{
			"proc/stat": "cpu\ncpu  1 2\ncpu  a b c d e f g h i\n\n", "proc/pressure/cpu": "some\nsome total=x\n",
			"sys/fs/cgroup/cpu.stat": "throttled_usec\n",
		}),
	} {
		var got history.Noise
		readMachine(root, at(2*time.Second)).since(readMachine(root, at(time.Second)), &got)
		if diff := cmp.Diff(history.Noise{}, got); diff != "" {
			t.Errorf("%s: noise (-want +got):\n%s", name, diff)
		}
	}
}

func TestSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var mu sync.Mutex
		var seen []Sample
		stop := start(files(nil), "load-0", nil, func() history.Offset { return time.Since(began) }, func(s Sample) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, s)
		})
		time.Sleep(2500 * time.Millisecond)
		stop()
		stop() // a second call does nothing
		var got [][2]history.Offset
		for _, s := range seen {
			if s.Of != "load-0" || s.Pause != 0 { // nothing is late in the fake time of a bubble
				t.Errorf("sample %+v", s)
			}
			if e := s.Event(); e.T != s.At || e.Noise.Since != s.Since {
				t.Errorf("event %+v of sample %+v", e, s)
			}
			got = append(got, [2]history.Offset{s.Since, s.At})
		}
		want := [][2]history.Offset{{0, time.Second}, {time.Second, 2 * time.Second}, {2 * time.Second, 2500 * time.Millisecond}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("samples from and to (-want +got):\n%s", diff)
		}
	})
}

// A process that was stopped is late for its interval by the same time. Here the runtime stops the world to dump the heap into a
// pipe, whose reader reads one byte and then pauses.
func TestStallMeterSeesAStop(t *testing.T) {
	m, over := &stallMeter{}, make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() { m.run(over) })
	defer func() {
		close(over)
		done.Wait()
	}()
	for end := time.Now().Add(10 * time.Second); m.take() == 0 && time.Now().Before(end); {
		time.Sleep(interval) // wait until the stallMeter has measured something
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader := exec.CommandContext(t.Context(), "sh", "-c", "head -c 1 >/dev/null; sleep 0.2; cat >/dev/null")
	reader.Stdin = read
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	large := make([]byte, 4<<20) // more than the pipe buffer
	debug.WriteHeapDump(write.Fd())
	runtime.KeepAlive(large)
	if err := errors.Join(write.Close(), read.Close(), reader.Wait()); err != nil {
		t.Fatal(err)
	}
	const want = 200*time.Millisecond - 2*interval
	var seen time.Duration
	for end := time.Now().Add(10 * time.Second); seen < want && time.Now().Before(end); time.Sleep(interval) {
		seen = max(seen, m.take())
	}
	if seen < want {
		t.Errorf("seen a pause of %s, but the process stood still for 200 ms", seen)
	}
}
