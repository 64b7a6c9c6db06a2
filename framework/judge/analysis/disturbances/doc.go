// Package disturbances reads from a record what disturbed its cluster: nodes that were drained, lost, replaced or upgraded, workloads
// that were rolled out or scaled, and pods that ended, with who ended them as far as the record tells.
//
// A recording (history.Recorded) has no faults of holdfast's own. Its disturbances take their place: AsFaults gives a record its
// disturbances in the form of faults. What the watches reported is their witness.
//
// It judges no promise. The causes of the ends of pods are those of package spread, which are inferred where the record has no reason.
// Completed Jobs, and pods that ended by themselves without failing, are no disturbances.
package disturbances
