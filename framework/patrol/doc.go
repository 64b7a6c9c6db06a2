// Package patrol audits a cluster again and again, and shows what it finds: as metrics for Prometheus, as a page, and as Events on the
// objects if that is asked for.
//
// It reads with lists, page by page, at each round, and keeps nothing that has to be watched: a list that is refused or fails is seen at
// once, while a cache that is no longer fed looks like a cluster in which nothing changes. What a round could not read stays as it was
// last seen, and is shown as not checked, so that no alert ends because the patrol is blind.
//
// The patrol judges nothing beyond the audit's rules, and alerts nobody: package emit has the rules by which Prometheus does. It does not
// remember what it saw before it was started; Prometheus does.
package patrol
