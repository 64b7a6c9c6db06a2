// Package reports tells people and machines what a stored run found, one file a format: junit.xml for a CI server,
// report.json for programs, report.md for a job summary, report.html for whoever wants to understand.
//
//	if err := reports.WriteAll("artifacts/latest"); err != nil { ... }
//
// All formats are written from one Model, which Build reads from the run's folder: verdicts from run.json, everything
// else from the records. Requests are streamed once, so that the memory it takes does not grow with their number. What
// is damaged or missing is reported as Unknown, never left out. report.md begins like this:
//
//	## ✅ Held: holdfast run `20260102-030405`
//
//	5 held, 6 mutants caught. Mutants apart: 0 of 62,000 requests failed over 31 disruption events.
//
//	| | scenario | requests | failed | disruptions | at most, 95 % | p99 |
//	| --- | --- | ---: | ---: | ---: | ---: | ---: |
//	| ✅ Held | **chaos/drain-one-worker**<br>draining one worker is invisible to clients | 12,000 | 0 | 1 | 0.025 % | 3.31 ms |
//
// It judges nothing, changes nothing but its own four files, and shows nothing of a run that is still going on.
package reports
