// Package export writes the requests of stored runs for other tools: vegeta's report and plot, and whatever reads CSV.
//
// What other tools then count agrees with the verdicts to the last request. A request that failed is a failure in the export
// whatever its status was, and what no verdict counts (what was never sent, what was not due under load, and the control lane)
// is left out, or marked.
//
// It judges nothing: that is for package invariant.
package export
