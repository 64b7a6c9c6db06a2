// Package failures groups failed requests by what they have in common, attributes them to causes, and sets apart those that the
// harness's own noise explains. It judges no promise.
package failures
