// Package nights reads all runs and certificates below a folder, in the order of time, and keeps of each what can be compared over many
// nights: verdicts, a few figures, and what it ran on.
//
// A run is taken from its report.json. Where that is missing or older than the record, the report is built from the record. What is damaged,
// unreadable or interrupted is kept as such, with the reason. The package does not compare anything: package trend does, and package index
// shows all nights on one page.
package nights
