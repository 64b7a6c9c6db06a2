package gateway

import (
	"time"
)

// upstream is the gateway's state of one backend. The pool's lock guards it.
type upstream struct {
	address string

	unhealthy bool // according to health checks
	streak    int  // consecutive checks that contradict the current health

	failures int // consecutive failed requests
	ejected  time.Time

	bad int // failed requests and checks since the last success

	tries, failed uint64
}

// usable reports whether the upstream gets requests.
func (u *upstream) usable(now time.Time) bool { return !u.unhealthy && !now.Before(u.ejected) }

// checked records the result of a health check, and returns true if the upstream's health changed.
func (u *upstream) checked(well bool, h Health) bool {
	u.note(well)
	if well != u.unhealthy {
		u.streak = 0
		return false
	}
	u.streak++
	limit := h.UnhealthyAfter
	if u.unhealthy {
		limit = h.HealthyAfter
	}
	if u.streak < limit {
		return false
	}
	u.unhealthy, u.streak = !well, 0
	return true
}

// answered records the result of a request, and returns true if the upstream is ejected from now on.
func (u *upstream) answered(well bool, e Ejection, now time.Time) bool {
	u.note(well)
	if well {
		u.failures = 0
		return false
	}
	u.failed++
	u.failures++
	if e.Off || u.failures < e.After {
		return false
	}
	u.failures, u.ejected = 0, now.Add(e.For)
	return true
}

func (u *upstream) note(well bool) {
	u.bad++
	if well {
		u.bad = 0
	}
}
