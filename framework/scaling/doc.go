// Package scaling says how costs grow with the size of a cluster: it reads kube-scheduler's metrics, fits slopes to measurements, and writes
// them as a table and a chart.
//
// It makes no clusters and runs no scenarios: command framework/internal/scale does.
package scaling
