// Package workers knows the load workers as pods of a cluster: when all are ready, how to reach each of them, and whether one has ended.
//
// It only reads from the cluster. Package workloads makes the workers' Job, and package collect gives them their work.
package workers
