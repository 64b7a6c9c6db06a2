// Package reports writes what a stored run found, in one file for each format: junit.xml for a CI server, report.json for programs,
// report.md for a job summary, and report.html for people.
//
//	if err := reports.WriteAll("artifacts/latest"); err != nil { ... }
//
// All formats are written from one Report, which Build makes from the folder of a run: the verdicts are from run.json, everything else is
// from the records. Build reads the requests once, in memory that does not grow with their number. What is damaged or missing is reported
// as Unknown, never left out. report.md begins like this:
//
//	## ✅ Held: holdfast run `20260102-030405`
//
//	5 held, 6 mutants caught. Without the mutants: 0 of 62,000 requests failed over 31 disruption events.
//
//	| | scenario | requests | failed | disruptions | at most, 95 % | p99 |
//	| --- | --- | ---: | ---: | ---: | ---: | ---: |
//	| ✅ Held | **chaos/drain-one-worker**<br>draining one worker is invisible to clients | 12,000 | 0 | 1 | 0.025 % | 3.31 ms |
//
// The package does not judge, and changes only its own four files and the catalogue. A run that has not ended is reported as such.
package reports
