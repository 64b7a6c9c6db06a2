// Package load sends requests on a schedule and records truthfully what became of each.
//
// An Attack plays a Plan: it sends the requests of the plan's lanes, and makes one row per request. Package collect runs it in a
// pod and collects the rows.
//
// What truthful means here:
//   - Open loop: request k of a lane is due at its start + k/rate, whatever became of earlier requests. Each row has the
//     times at which the request was due, sent and done. A request that could not be sent has a row too, so that
//     planned = sent + unsent + in flight at every moment, and rows = planned at the end.
//   - Nothing is hidden: redirects are not followed, proxies of the environment are not used, bodies are read whole, every
//     time-out is explicit, and a request that net/http or gRPC silently sent again is history.Masked.
//   - A good answer is what the workload's Probe expects (package expect). The sample backend repeats the request's ID and names
//     its pod. An answer of another server does not say where it comes from.
//   - The lanes differ in how they use connections: Lanes is the table. Pooled connections take turns, because net/http would
//     always use the one used last, which leads to one pod. When all are busy a lane opens more, as net/http does. With
//     Lane.MaxConnections it makes requests wait instead: a count of where connections lead must not depend on the machine's
//     stalls. On held connections messages go both ways (package message). A message fails if its answer is skipped, or stalls, or
//     is missing when the connection ends. A connection that closes without a close message is a failure, too. Reconnecting after
//     the server asked for it is not.
//   - Servers that are not holdfast's own have lanes of their own where those of the sample backend do not reach: ForeignLanes, over TCP and
//     WebSocket (package ask), and over HTTP/2 with TLS or with a connection for each request (package roundtrip). A unary gRPC call is a
//     request on a lane of HTTP/2, whose message is made of JSON by descriptors (package unary).
//   - TLS is what the lane says. A server that does not choose HTTP/2 on a lane of HTTP/2 has failed: the lane does not go on with HTTP/1.1.
//     A handshake that fails is history.BadTLS, unless the connection broke or nothing came in time, and names the server.
//   - All lanes detect the same misbehaviours of servers, except those that their protocol rules out:
//     TestLanesTellMisbehavioursApart has the table.
//
// This package uses vegeta's Pacer and Targeter, but not its Attacker, which cannot report truthfully. The Attacker dates a hit
// when a worker takes it up, and forgets when the hit was due. It reports neither when its schedule began nor which hits were
// never made, so a stop, or its limit of workers, turns missing requests into a lower rate. At that limit it holds hits back and
// then sends them in one burst at a server that has just recovered. A Pacer that is asked at elapsed time zero, in contrast,
// is the schedule itself, which does not depend on delays.
//
// Package invariant judges what the rows mean; package workloads makes the worker's pod.
package load
