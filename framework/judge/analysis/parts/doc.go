// Package parts splits a recording into the parts that can be judged by themselves. A part is a set of workloads with the pods,
// budgets and Services that they share. A part, cut to a time, is a record like any other: it begins with the state at that time.
//
// It knows no disturbances and judges nothing. Pods belong together if a workload, a budget or a Service selects them. Where pods may be
// bound is another question: there those belong together, too, whose topology spread constraints and affinities are about each other.
package parts
