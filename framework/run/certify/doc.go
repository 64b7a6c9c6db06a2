// Package certify certifies an upgrade of Kubernetes in place: it runs the scenarios of profiles before the upgrade, the upgrade under
// load, and the same scenarios on the same cluster after it. Assemble makes the certificate from the records of the three runs: what
// held before, during and after, and for each profile whether that is enough. Compare says what differs between two certificates.
//
// It judges no record again. Missing or incomplete evidence is in the certificate as such, and certifies nothing. The document and its
// page are in package certificate.
package certify
