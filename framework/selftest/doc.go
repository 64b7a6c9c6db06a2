// Package selftest measures how good the harness is. It has two parts.
//
// The instrument measures load and record without a cluster: the shortest outage that is always seen, whether each of a few lost
// requests is seen among tens of thousands, and whether a soak of good requests is reported as good. Its servers listen on loopback
// and know what they did to each request. The measurement goes the whole way that a scenario's requests go: load worker, session,
// record, judgement.
package selftest
