package environment

import (
	"context"
	"encoding/json"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
)

// noteGateway records what the gateway has counted since it was ready for the load. If the gateway does not answer, or was
// restarted and counts from zero again, nothing is recorded. The verdicts depend on the clients' requests, not on these counts.
func (env *Environment) noteGateway(ctx context.Context) error {
	before := env.gatewayBefore
	for _, n := range env.Cluster.Nodes() {
		if n.Role() != clusters.LoadNode || env.gatewayStats == "" {
			continue
		}
		now, told := askGateway(ctx, n, env.gatewayStats)
		if !told || now.Requests < before.Requests {
			return nil
		}
		return env.Writer.Append(history.Event{T: env.Writer.Now(), Gateway: &history.GatewayTotals{
			Requests: now.Requests - before.Requests, Tries: now.Tries - before.Tries,
			Masked: now.Masked - before.Masked, Failed: now.Failed - before.Failed,
		}})
	}
	return nil
}

func askGateway(ctx context.Context, from clusters.Node, url string) (told gateway.Stats, ok bool) {
	answer, err := from.Exec(ctx, "curl", "--silent", "--show-error", "--fail", "--max-time", "2", url)
	ok = err == nil && json.Unmarshal(answer, &told) == nil
	return told, ok
}
