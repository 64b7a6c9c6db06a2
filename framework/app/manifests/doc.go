// Package manifests reads the manifests of an application: of files and charts, or from the namespace that it runs in. It lists what of them cannot work
// on the cluster of a test, before anything is created: what objects refer to and no manifest creates, nodes, drivers and kinds that the cluster does not
// have, and what requests do not meet.
//
// A copy of a namespace asks for no Secret; its caller gives it a client that can only read: see existing.ReadOnly. All else asks no cluster. The API
// server says what it refuses when it is asked before anything is applied, and the scheduler what has no room.
package manifests
