// Package deploy creates the objects of an application of the user's own on a cluster, in their order, runs Helm's hooks at their place,
// waits until all is ready, and removes what would not be removed with the namespaces.
//
// It does not know the load and the faults, and makes no namespaces: package environment does.
package deploy
