// Package conformance holds scenarios about placement and budgets, which need no traffic. One file per scenario.
package conformance
