// Package incidents describes outages that people had, one file each: story, symptom, cause and fix. The proof are scenarios of
// the other suites that show the outage and the fix.
package incidents
