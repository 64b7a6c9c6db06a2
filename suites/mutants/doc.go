// Package mutants holds scenarios of the other suites with one good practice removed, which an invariant must catch. One file
// per scenario.
package mutants
