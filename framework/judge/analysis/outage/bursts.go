package outage

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
)

// burst is a part of an outage in which more requests failed than the victims' share explains. Over the whole outage it may not be
// noticed, because few requests fail towards its end.
type burst struct {
	From              history.Offset
	length            time.Duration
	failed, all, Most uint64 // of requests that opened a connection
}

// burst finds the part, of any length that is a power of two steps, with the most failures beyond what chance allows; nil: none. Since
// many parts are tested, the allowed chance is divided by their number. Failures to leave out are given by step; nil: none.
func (o *Outage) burst(l *outageLane, without []uint32) (worst *burst) {
	if o.share <= 0 || l.failed == 0 {
		return nil
	}
	if without == nil {
		without = make([]uint32, len(l.fails))
	}
	from, to := int((l.first-o.From)/outageStep), int((l.last-o.From)/outageStep)+1
	parts := 0
	for length := 1; length <= to-from; length *= 2 {
		parts += 2*(to-from)/length + 1
	}
	for length := 1; length <= to-from; length *= 2 {
		for begin := from; begin < to; begin += max(1, length/2) {
			b := burst{From: o.From + history.Offset(begin)*outageStep, length: time.Duration(length) * outageStep}
			for i := begin; i < min(begin+length, to); i++ {
				b.all, b.failed = b.all+uint64(l.opened[i]-without[i]), b.failed+uint64(l.fails[i]-without[i])
			}
			if !o.unusual(b.failed, b.all) {
				continue
			}
			b.Most = stats.MostOf(b.all, o.share, Chance/float64(parts))
			if b.failed > b.Most && (worst == nil || b.failed-b.Most > worst.failed-worst.Most) {
				worst = &b
			}
		}
	}
	return worst
}

// unusual is a quick test that saves the exact one: a number of failures of so small a chance is at least four standard deviations
// above the mean.
func (o *Outage) unusual(failed, all uint64) bool {
	mean := o.share * float64(all)
	above := float64(failed) - mean
	return above > 0 && above*above > 16*mean*(1-o.share)
}

// explain notes how many of a lane's failures noise explains as well, between the first and the last of them.
func (l *outageLane) explain(o *Outage, like attribution.SimilarFailures) {
	left := like.N
	last := min(max(like.Last.Sent, o.From), o.To) - o.From
	for at := max(like.First.Sent, o.From) - o.From; left > 0 && at/outageStep <= last/outageStep; at += outageStep {
		n := min(left, uint64(l.fails[at/outageStep]-l.noisy[at/outageStep]))
		l.noisy[at/outageStep] += uint32(n)
		left -= n
	}
}

func (b *burst) String() string {
	return fmt.Sprintf("%d of %d requests (%s) within %s from %s", b.failed, b.all, prose.Percent(float64(b.failed)/float64(b.all)),
		prose.Moment(b.length), prose.Moment(b.From))
}
