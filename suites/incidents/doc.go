// Package incidents retells outages that people had, one file each: story, symptom, cause, fix, and as proof the
// scenarios that show the outage and its mending. The scenarios themselves are in the other suites.
package incidents
