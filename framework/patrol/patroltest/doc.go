// Package patroltest is a cluster for tests of the patrol: objects that are planted, changed and removed, behind a client in memory.
//
// Nothing happens in it by itself: no controller makes pods, and no scheduler binds them.
package patroltest
