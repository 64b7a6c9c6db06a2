// Package certificate says in one document what an upgrade of Kubernetes did to the promises of a cluster: what held before
// it, during it and after it, side by side, and per profile whether that is enough to certify.
//
//	c, err := certificate.Assemble(certificate.Input{Dir: dir, Before: "before", Upgrade: "upgrade", After: "after", ...})
//	if err == nil {
//		err = certificate.Write(dir, c)
//	}
//
// It reads the records of the three runs as reports do, and judges nothing anew. What is missing or cut off is in the
// certificate as such, and is never certified: no evidence, no pass. Compare lays two certificates side by side.
package certificate
