// Package certificate is the document about an upgrade of Kubernetes in place: what held before it, during it and after it, side by
// side, and for each profile whether that is enough to certify. Write writes it as JSON, YAML, Markdown and a page; Read reads it.
//
// Package certify makes it.
package certificate
