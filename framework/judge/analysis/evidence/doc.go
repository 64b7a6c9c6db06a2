// Package evidence is what a record can prove: which of its parts are missing, late or contradictory, which faults were active when, and
// what the harness's own noise explains. Every promise begins with it. It judges no promise.
package evidence
