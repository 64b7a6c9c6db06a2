// Package gateway is a reverse proxy between clients and backends. It distributes requests round-robin among its upstreams,
// checks their health, and retries on another upstream when that is safe, so that a lost node stays invisible to clients.
// Every response states the number of tries.
//
// It is not a general-purpose proxy: no TLS, no HTTP/2, no upgrades, and a single group of upstreams.
package gateway
