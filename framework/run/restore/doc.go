// Package restore brings a cluster back to the state in which a run found it: after a scenario, and after a harness that was
// killed. It uses the cluster, the undo scripts and labels that faults and scenarios leave there, and no record.
//
// It does not repair what neither a fault nor a scenario has changed.
package restore
