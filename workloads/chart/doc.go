// Package chart renders a Helm chart with the helm program, and reads from an object when Helm would apply it.
//
// It links no code of Helm: the user's own helm renders as it does in their pipeline, with their plugins. It sends nothing to a cluster.
package chart
