// Package serve runs an HTTP server and shuts it down as pods do: cleanly (Drain), at once (Drop), or with long-lived
// connections cut (Hold). The two bad ways exist so that holdfast can prove that it catches them. The server also speaks
// HTTP/2 to clients that start with it (prior knowledge).
//
// The package does not know what is served; packages backend and gateway do.
package serve
