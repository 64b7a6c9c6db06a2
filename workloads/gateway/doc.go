// Package gateway stands between clients and backends: it takes turns among upstreams, watches their health, and tries
// another one when that is safe, so that a lost node stays invisible to clients. It says how often it tried.
//
// It is no general proxy: no TLS, no HTTP/2, no upgrades, one group of upstreams.
package gateway
