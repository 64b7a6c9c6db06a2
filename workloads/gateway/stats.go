package gateway

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
)

// Stats are a gateway's counts since it began. What a retry saved is no failure to a client, and still something that
// went wrong: it is counted, not hidden.
type Stats struct {
	Requests uint64 `json:"requests"`
	// Tries were sent to upstreams; Retried requests had more than one.
	Tries   uint64 `json:"tries"`
	Retried uint64 `json:"retried"`
	// Masked requests were answered well, and only because of a retry.
	Masked uint64 `json:"masked"`
	// Failed requests were answered by the gateway itself: no upstream did.
	Failed    uint64          `json:"failed"`
	Upstreams []UpstreamStats `json:"upstreams"`
}

// UpstreamStats are what the gateway knows of one upstream.
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

// tell answers with the Stats.
func (g *gateway) tell(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Stats{ // a client that went away needs no answer
		Requests: g.stats.requests.Load(), Tries: g.stats.tries.Load(), Retried: g.stats.retried.Load(),
		Masked: g.stats.masked.Load(), Failed: g.stats.failed.Load(), Upstreams: g.pool.stats(),
	})
}
