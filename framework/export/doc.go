// Package export writes the requests of a stored scenario for vegeta's report and plot. Other tools read the CSV files of the record.
//
// The numbers that vegeta counts agree exactly with the verdicts. A failed request is a failure in the export whatever its
// status was. Requests that no verdict counts (unsent ones, those that were not due under load, and the control lane) are left
// out.
//
// It judges nothing; package invariant does.
package export
