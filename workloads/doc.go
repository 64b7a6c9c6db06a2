// Package workloads defines what is deployed: options as plain data, and the Kubernetes objects that follow from them. The
// zero value of an option is good practice, so a mutant is a literal with one changed field.
//
// The package does not talk to a cluster, and of nodes it knows only the labels. The programs that run in the pods are in
// the packages below it: backend, gateway and serve. Package image puts them into a container image.
package workloads
