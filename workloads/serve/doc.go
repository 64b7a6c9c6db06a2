// Package serve runs an HTTP server, which speaks HTTP/2 to clients that begin with it, and ends it as a pod ends: in
// order (Drain), at once (Drop), or with long-lived connections cut (Hold). The two bad ends are there to be caught.
//
// It does not know what is served; packages backend and gateway do.
package serve
