package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
)

// balancer reports which load balancer image is used for several control planes. holdfast's own image has the same name as
// kind's, so the name alone does not show which one it is.
func balancer(ctx context.Context, e containerEngine) Check {
	check := Check{Name: "balancer", Status: OK, Found: "not present; it is pulled or built for a cluster with several control planes"}
	if e == nil {
		return check
	}
	const format = `{{.Id}} {{index .Config.Labels "` + nodeimage.LabelBalancer + `"}}`
	out, err := e.Output(ctx, "image", "inspect", "--format", format, nodeimage.BalancerImage)
	if err != nil || len(strings.TrimSpace(string(out))) == 0 {
		return check // the image does not exist, which is no problem
	}
	_, program, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if program == "" || program == "<no value>" {
		check.Found = "kind's own (" + nodeimage.BalancerImage + ")"
		return check
	}
	check.Found = fmt.Sprintf("%s replaces kind's Envoy under the same image name (%s), in %s only", program, nodeimage.BalancerImage, e.Name())
	check.Remedy = "holdfast image remove " + nodeimage.BalancerImage + "   # to try the registry again"
	return check
}
