// Package export writes the requests of stored runs for other tools: vegeta's report and plot, and anything that reads CSV.
//
// The numbers that other tools count agree exactly with the verdicts. A failed request is a failure in the export whatever its
// status was. Requests that no verdict counts (unsent ones, those that were not due under load, and the control lane) are left
// out, or marked.
//
// It judges nothing; package invariant does.
package export
