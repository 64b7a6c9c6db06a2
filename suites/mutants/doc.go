// Package mutants holds workloads with one good practice removed, which an invariant must catch. One file a scenario.
package mutants
