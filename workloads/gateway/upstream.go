package gateway

import (
	"time"
)

// upstream is one backend as the gateway sees it. The pool's lock guards it.
type upstream struct {
	address string

	unhealthy bool // by checks
	streak    int  // checks in a row that speak against its present health

	failures int // requests in a row
	ejected  time.Time

	bad int // requests and checks that failed since one last went well

	tries, failed uint64
}

// usable tells whether it gets requests.
func (u *upstream) usable(now time.Time) bool { return !u.unhealthy && !now.Before(u.ejected) }

// checked takes the result of a health check, and tells whether the upstream's health changed.
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

// answered takes the result of a request, and tells whether the upstream is left out from now on.
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
