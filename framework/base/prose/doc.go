// Package prose formats counts, lists, moments and shares for the sentences that holdfast writes.
package prose
