// Package scaling says how costs grow with the size of a cluster and with the number of requests: it has the scheduler bind pods with each
// constraint and reads its metrics, fits slopes to measurements, and writes them as a table and a chart.
//
// It makes no clusters and runs no scenarios: command framework/internal/scale does.
package scaling
