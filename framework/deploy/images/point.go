package images

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ha/holdfast/clusters"
)

// pointScript lets the containerd of a node ask the mirror, and nothing else, and loads the images of pods, so that also a pod with the
// policy Never finds its image, and no pod waits for a pull that it would not have waited for on a node that knows its image.
//
// containerd reads hosts.toml at each pull, but the folder of it when it starts. Since 2.2 it has a folder by default: kind's node images
// and holdfast's own have such a containerd, and no setting. An older one is given the setting, and restarted; pods run on meanwhile.
//
// Source: https://github.com/containerd/containerd/blob/main/docs/hosts.md
//
// $1 the mirror's URL, then images
const pointScript = `set -e; config=/etc/containerd/config.toml; default=/etc/containerd/certs.d
folder=$(sed -n "s|^[[:space:]]*config_path[[:space:]]*=[[:space:]]*[\"']\([^:\"']*\).*|\1|p" "$config" | head -n 1)
if [ -z "$folder" ]; then
  folder=$default
  if ! grep --quiet --text --fixed-strings "$default:/etc/docker/certs.d" "$(command -v containerd)"; then
    if grep --quiet 'cri".registry\]\|config_path' "$config"; then
      echo "containerd reads no $default, because $config sets its registries in another way" >&2; exit 1
    fi
    printf '\n[plugins."io.containerd.grpc.v1.cri".registry]\n  config_path = "%s"\n' "$default" >>"$config"
    systemctl restart containerd
  fi
fi
mkdir -p "$folder/_default"
printf 'server = "%s"\n' "$1" >"$folder/_default/hosts.toml.part"
mv "$folder/_default/hosts.toml.part" "$folder/_default/hosts.toml"
shift
for image in "$@"; do
  said=$(ctr --namespace k8s.io images pull --hosts-dir "$folder" --skip-metadata "$image" 2>&1) ||
    { echo "pull $image: $(echo "$said" | tail -n 2)" >&2; exit 1; }
done`

// StartMirror serves the images of a layout on the load node of a cluster, at its address, and points every node to it. The images of pods, by
// their whole names, are loaded into every node. All nodes must be running. It may be called again with other images, which take the
// place of the former ones.
func StartMirror(ctx context.Context, cluster clusters.Cluster, address, layout, executable string, ofPods []string) error {
	at := slices.IndexFunc(cluster.Nodes(), func(n clusters.Node) bool { return n.Role() == clusters.LoadNode })
	if at < 0 {
		return fmt.Errorf("serve images: cluster %s has no load node", cluster.Name())
	}
	if err := fill(ctx, cluster.Nodes()[at], layout, executable); err != nil {
		return err
	}
	mirror := url.URL{Scheme: "http", Host: net.JoinHostPort(address, strconv.Itoa(MirrorPort))}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.NumCPU()) // each unpacking uses a whole CPU
	for _, n := range cluster.Nodes() {
		group.Go(func() error {
			if _, err := n.Exec(ctx, append([]string{"bash", "-c", pointScript, "point", mirror.String()}, ofPods...)...); err != nil {
				return fmt.Errorf("load the images into %s: %w", n.Name(), err)
			}
			return nil
		})
	}
	return group.Wait()
}
