// Package reading reads of a cluster what the rules of package disturb ask about.
//
// It gets and lists, asks the API server about the user's rights, and asks it with dryRun=All whether it would create a pod. It changes
// nothing. What it may not read is noted as unread, and the rules refuse what depends on it.
package reading
