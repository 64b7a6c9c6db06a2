// Package invariant holds the promises, one file each. A promise judges a recorded history.
//
// A promise is pure: it takes no clock, no cluster and no randomness, and gives the same verdict for the same record every time. It
// neither prints nor fails anything. What it judges with (folds of the record, statistics) is in framework/judge/analysis; package judge puts
// promises to work.
package invariant
