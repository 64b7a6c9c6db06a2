// Package runfolder is what a run's folder has beside the records of its scenarios: run.json, which sums the run up; the room that is
// reserved for the last files; and, next to the folder, the links to the latest runs.
package runfolder
