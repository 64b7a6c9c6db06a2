// Package outage decides which failed requests an involuntary disruption, such as the loss of a node, explains.
//
// An outage lasts from the beginning of a fault to a predicted end. Within it, requests may fail that went to a victim, and no
// more of them than the victims' share of the endpoints and chance explain. When the victims died is known from the record
// only within bounds: after their last good answer, and before a request is known to have failed at a victim or the fault's
// witness saw the fault in effect. It does not judge: invariant.FailuresEndWithin does.
package outage
