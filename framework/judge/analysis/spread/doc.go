// Package spread measures how evenly the pods of a workload are distributed over topology domains, and what changed that.
//
// A Distribution is the state each time the workload has settled. The skew ledger has every change of the skew in between,
// with its cause: the scheduler, a scale-down, a rollout, an eviction, a lost node, and so on. The skew is the difference
// between the fullest and the emptiest eligible domain. The package does not check whether a binding was legal (package
// placement), and does not judge: the Spread promises of package invariant do.
package spread
