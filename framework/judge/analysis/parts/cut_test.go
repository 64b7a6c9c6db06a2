package parts

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// randomEvents are events of each kind that belongs to every part, and of the pods of two workloads, in order.
func randomEvents(random *rand.Rand) (all []history.Event) {
	at := func() history.Offset { return time.Duration(random.IntN(1000)) * time.Millisecond }
	for range 3 + random.IntN(100) {
		t := at()
		earlier := history.Offset(random.Int64N(int64(t) + 1))
		name := fmt.Sprint(random.IntN(4))
		e := history.Event{T: t}
		switch random.IntN(10) {
		case 0:
			e.Node = &history.Node{Name: name, Ready: fmt.Sprint(random.IntN(2)), Change: []history.Change{history.Added, history.Modified, history.Deleted}[random.IntN(3)]}
		case 1:
			e.Gap = &history.Gap{What: "pods", Since: earlier}
		case 2:
			e.Noise = &history.Noise{Since: earlier}
		case 3:
			e.Clock = &history.Clock{}
		case 4:
			e.Resumed = &history.Resumed{Since: earlier}
		case 5:
			e.Trouble = &history.Trouble{What: name}
		case 6:
			e.Workload = &history.Workload{Namespace: "shop", Name: name, Selector: map[string]string{"app": name}, Change: history.Added}
		default:
			e.Pod = &history.Pod{Namespace: "shop", Name: name, UID: name, Labels: map[string]string{"app": name}, Change: []history.Change{history.Added, history.Deleted}[random.IntN(2)]}
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b history.Event) int { return cmp.Compare(a.T, b.T) })
	return all
}

// A cut that looks up what it needs is the same as one that looks at each event of the record.
func TestACutMissesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for n := range 2000 {
		events := randomEvents(random)
		s := Of(history.Run{Events: events})
		from, to := time.Duration(random.IntN(1000))*time.Millisecond, time.Duration(random.IntN(1200))*time.Millisecond
		from, to = min(from, to), max(from, to)
		if n%10 == 0 {
			from, to = 0, Whole
		}
		var list []*Part
		for _, p := range s.All {
			if random.IntN(2) == 0 {
				list = append(list, p)
			}
		}
		var each []int32
		for i := range events {
			if _, is := owner(&events[i]); !is && !ignored(&events[i]) {
				each = append(each, int32(i))
			}
		}
		for _, p := range list {
			each = append(each, p.events...)
		}
		slices.Sort(each)
		naive := cutter{from: from, to: to, state: newSnapshot()}
		for _, i := range each {
			naive.take(&events[i])
		}
		naive.begin()
		if diff := gocmp.Diff(naive.events, s.Events(from, to, list...)); diff != "" {
			t.Fatalf("record %d, cut from %s to %s (-want +got):\n%s", n, from, to, diff)
		}
	}
}
