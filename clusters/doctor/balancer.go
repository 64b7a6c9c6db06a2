package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/nodeimage"
)

// balancer says which image stands before several control planes: one of ours has the name of kind's own, and nobody should
// have to guess.
func balancer(ctx context.Context, e containerEngine) Check {
	check := Check{Name: "balancer", Status: OK, Found: "none is here; it is pulled, or built, when several control planes are asked for"}
	if e == nil {
		return check
	}
	const format = `{{.Id}} {{index .Config.Labels "` + nodeimage.LabelBalancer + `"}}`
	out, err := e.Output(ctx, "image", "inspect", "--format", format, nodeimage.BalancerImage)
	if err != nil || len(strings.TrimSpace(string(out))) == 0 {
		return check // there is no such image, which is no trouble
	}
	_, program, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if program == "" || program == "<no value>" {
		check.Found = "kind's own (" + nodeimage.BalancerImage + ")"
		return check
	}
	check.Found = fmt.Sprintf("%s stands in for kind's Envoy, under its name (%s), in %s alone", program, nodeimage.BalancerImage, e.Name())
	check.Remedy = "holdfast image remove " + nodeimage.BalancerImage + "   # to have the registry asked again"
	return check
}
