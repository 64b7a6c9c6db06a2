// Package load sends requests by a schedule and says truthfully what became of each.
//
// A worker (RunWorker) is a server in a pod. It is given a Plan, sends what the plan's lanes want, and keeps one row a
// request until it is told that the row is safe. The harness (Start) gives it the plan and collects the rows into the
// run's history, through an API server that may be away for minutes.
//
// What truthful means here:
//   - Open loop: request k of a lane is due at its start + k/rate, whatever became of the requests before it. Each row
//     has when the request was due, when it was sent and when it ended. What could not be sent is a row too, so that
//     planned = sent + unsent at every moment, and rows = planned at the end.
//   - Nothing is hidden: redirects are not followed, proxies of the environment are not used, bodies are read whole and
//     compared, every time-out is explicit, and a request that net/http or gRPC silently sent again is history.Masked.
//   - The lanes differ in how they use connections. The reused lane takes its connections in turn: net/http would use
//     the one used last, and so learn about one pod only. When they are all busy it opens more, as net/http does, or, with
//     Lane.MaxConnections, makes requests wait: what counts where connections lead must not count the machine's stalls. The stream and websocket
//     lanes hold one connection, on which messages go both ways: one that is skipped, or stalls, or is owed when the
//     connection ends, is a failure, and so is an end without a goodbye. To leave when asked to, and come back, is none.
//   - The lanes tell apart the same things, or say that they cannot meet them: TestLanesTellMisbehavioursApart is the table.
//
// Of vegeta this package uses the Pacer and the Targeter, and not the Attacker, which cannot be made truthful: it dates
// a hit when a worker takes it up and forgets when it was due; it neither tells the moment its schedule began nor which
// hits were never made, so that a stop, or its limit of workers, turns missing requests into a lower rate; and at that
// limit it holds the hits back and then sends them in one burst at a server that has just recovered. A Pacer asked at
// elapsed time zero, on the other hand, is the schedule itself, which no lateness can bend.
//
// It is not for judging what the rows mean (package invariant), nor for making the pod a worker runs in (workloads).
package load
