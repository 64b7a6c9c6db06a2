// Package requests counts the requests of a record in one pass: whether the planned load was sent, how long no request was sent, and
// whether the victims of a fault had traffic. It judges no promise.
package requests
