package kind

import (
	"fmt"
	"regexp"
)

// prefix starts the name of every container and network of holdfast, and the label of its podman volumes, so that they can be
// found after a crash.
const prefix = "holdfast-"

// Labels on the network of a cluster. The network is created first and removed last, so its labels survive a crash.
const (
	labelCluster = "holdfast.dev/cluster" // the cluster's name, without Prefix
	labelRecord  = "holdfast.dev/record"  // a record as JSON
)

// kindClusterLabel is the label that kind puts on the containers of a cluster.
const kindClusterLabel = "io.x-k8s.kind.cluster"

// maxName keeps "holdfast-NAME-external-load-balancer" within the 63 characters of a DNS label.
const maxName = 31

// memberName matches the container names that kind derives from the name of a cluster.
const memberName = prefix + `([a-z0-9-]+)-(?:control-plane|worker|external-load-balancer)\d*`

var (
	namePattern   = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	memberPattern = regexp.MustCompile(`^` + memberName + `$`)
	// kind labels a podman volume NODE=true. Podman prints labels as map[k:v k:v], docker as k=v,k=v.
	volumePattern = regexp.MustCompile(`(?:^|[\[ ,])` + memberName + `[:=]true`)
)

// checkName returns an error if name is not a valid cluster name.
func checkName(name string) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("cluster name %q: %d characters, at most %d fit into the names of its nodes", name, len(name), maxName)
	case !namePattern.MatchString(name):
		return fmt.Errorf("cluster name %q: want lower-case letters, digits and inner dashes", name)
	}
	return nil
}

// clusterOf is the cluster of a container, by the container's name. It is empty for a container that is not holdfast's.
func clusterOf(container string) string { return firstGroup(memberPattern, container) }

// clusterOfVolume is the cluster of a volume, by its labels as the engine prints them.
func clusterOfVolume(labels string) string { return firstGroup(volumePattern, labels) }

func firstGroup(pattern *regexp.Regexp, text string) string {
	match := pattern.FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	return match[1]
}
