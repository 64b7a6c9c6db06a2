// Package workloads says what is deployed: options as plain data, and the Kubernetes objects that follow from them. The
// zero value of an option is good practice, so that a mutant is a literal with one field changed.
//
// It talks to no cluster and knows nothing of nodes but their labels. What runs in the pods lies below it: backend,
// gateway and serve; image puts them into a container image.
package workloads
