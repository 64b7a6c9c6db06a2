// Package reports makes a Report of what a stored run found. The formats in which it is read are in package formats.
//
//	r, err := reports.Build("artifacts/latest")
//
// The verdicts are from run.json, everything else is from the records. Build reads the requests once, in memory that does not grow with
// their number. What is damaged or missing is reported as Unknown, never left out. A run that has not ended is reported as such.
//
// The package does not judge, and writes nothing but report.json, for others.
package reports
