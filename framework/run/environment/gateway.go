package environment

import (
	"context"
	"encoding/json"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads/gateway"
)

// noteGateway records what the gateway has counted since it was ready for the load. If the gateway does not answer, or was
// restarted and counts from zero again, nothing is recorded. The verdicts depend on the clients' requests, not on these counts.
func (env *Environment) noteGateway(ctx context.Context) error {
	if env.gatewayStats == "" {
		return nil
	}
	before := env.gatewayBefore
	node, err := env.loadNode()
	if err != nil {
		return err
	}
	answer, err := node.Exec(ctx, "curl", "--silent", "--show-error", "--fail", "--max-time", "2", env.gatewayStats)
	var now gateway.Stats
	if err != nil || json.Unmarshal(answer, &now) != nil || now.Requests < before.Requests {
		return nil //nolint:nilerr // as above
	}
	return env.Writer.Append(history.Event{T: env.Writer.Now(), Gateway: &history.GatewayTotals{
		Requests: now.Requests - before.Requests, Tries: now.Tries - before.Tries,
		Masked: now.Masked - before.Masked, Failed: now.Failed - before.Failed,
	}})
}
