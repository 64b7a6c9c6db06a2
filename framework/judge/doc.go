// Package judge judges records: by the promises that are stored in them, and, for a mutant, whether it was caught.
//
// It decides what no single promise can: that nothing is Held without its evidence, that a broken record proves nothing, and that a
// fault which the environment refused is not supported. The promises are in package invariant.
package judge
