package plain

import (
	_ "embed"
	"fmt"
	"strings"
)

// Applications that a cluster of somebody else may have, in namespace shop: a Deployment web of an image whose entrypoint is holdfast's own
// executable, and a Service web with a port on each node. Careful has what the audit asks for. Careless has one replica, which a rollout ends
// before it starts the next one, and no budget.
var (
	//go:embed shop-careful.yaml
	careful string
	//go:embed shop-careless.yaml
	careless string
)

// NodePort is the port of Service web on each node.
const NodePort = 30080

// Careful are the manifests of the careful application.
func Careful(image string) string { return filled(careful, image) }

// Careless are the manifests of the careless application.
func Careless(image string) string { return filled(careless, image) }

func filled(manifests, image string) string {
	return strings.NewReplacer("IMAGE", image, "NODEPORT", fmt.Sprint(NodePort)).Replace(manifests)
}
