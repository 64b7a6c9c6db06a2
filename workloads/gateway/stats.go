package gateway

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
)

// Stats are a gateway's counters since its start. A request that a retry saved is not a failure for the client, but
// something went wrong, so it is counted.
type Stats struct {
	Requests uint64 `json:"requests"`
	// Tries is the number of requests sent to upstreams. Retried is the number of requests with more than one try.
	Tries   uint64 `json:"tries"`
	Retried uint64 `json:"retried"`
	// Masked is the number of requests that were answered well only because of a retry.
	Masked uint64 `json:"masked"`
	// Failed is the number of requests that no upstream answered, so the gateway did.
	Failed    uint64          `json:"failed"`
	Upstreams []UpstreamStats `json:"upstreams"`
}

// UpstreamStats are the state and the counters of one upstream.
type UpstreamStats struct {
	Address string `json:"address"`
	Healthy bool   `json:"healthy"`
	Ejected bool   `json:"ejected"`
	Tries   uint64 `json:"tries"`
	Failed  uint64 `json:"failed"`
}

type stats struct {
	requests, tries, retried, masked, failed atomic.Uint64
}

// tell responds with the Stats.
func (g *gateway) tell(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Stats{ // an error means that the client went away
		Requests: g.stats.requests.Load(), Tries: g.stats.tries.Load(), Retried: g.stats.retried.Load(),
		Masked: g.stats.masked.Load(), Failed: g.stats.failed.Load(), Upstreams: g.pool.stats(),
	})
}
