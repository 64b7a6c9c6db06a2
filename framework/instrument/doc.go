// Package instrument takes the load and its record as a measuring instrument, and measures that: the shortest outage it
// always sees, whether it sees a single lost request among ten thousand, and whether it says of a million good ones that they
// were good. The servers are its own, on loopback, and know what they did.
//
// It goes the whole way that a scenario's requests go: worker, session, record, judgement. It knows nothing of clusters.
package instrument
