// Package conformance holds placement and budget promises, which need no traffic. One file a scenario.
package conformance
