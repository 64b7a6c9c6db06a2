package plain

import (
	"fmt"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"

	"github.com/holdfast-ha/holdfast/clusters"
)

type configuration = v1alpha4.Cluster

// configure is kind's configuration: its defaults, and what the node image and the machine need.
func (c *Cluster) configure(ownNetwork, cgroupV1 bool) *configuration {
	config := &configuration{
		TypeMeta:   v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Networking: v1alpha4.Networking{DisableDefaultCNI: ownNetwork},
		// The node image has no kindnetd, but a pod network of its own.
		KubeadmConfigPatches: []string{c.controlPlanePatch()},
	}
	if cgroupV1 {
		config.KubeadmConfigPatches = append(config.KubeadmConfigPatches, "kind: KubeletConfiguration\nfailCgroupV1: false\n")
	}
	control := v1alpha4.Node{Role: v1alpha4.ControlPlaneRole, Image: c.Image}
	if c.Audit {
		control.ExtraMounts = []v1alpha4.Mount{
			{HostPath: c.policyFolder(), ContainerPath: policyOnNode, Readonly: true}, {HostPath: c.logFolder(), ContainerPath: logOnNode},
		}
	}
	config.Nodes = append(config.Nodes, control)
	for i := range c.Workers {
		worker := v1alpha4.Node{Role: v1alpha4.WorkerRole, Image: c.Image}
		if len(c.Zones) > 0 {
			worker.Labels = map[string]string{clusters.LabelZone: c.Zones[i%len(c.Zones)]}
		}
		config.Nodes = append(config.Nodes, worker)
	}
	return config
}

// controlPlanePatch lets etcd not wait for the disk, which all helpers of this machine share: a slow disk would look like a slow cluster. The
// arguments are maps, because kind applies the patch to kubeadm's v1beta3 configuration.
func (c *Cluster) controlPlanePatch() string {
	var text strings.Builder
	text.WriteString("kind: ClusterConfiguration\netcd:\n  local:\n    extraArgs:\n      unsafe-no-fsync: \"true\"\n")
	if c.Audit {
		fmt.Fprintf(&text, `apiServer:
  extraArgs:
    audit-policy-file: %[1]s/policy.yaml
    audit-log-path: %[2]s/audit.log
  extraVolumes:
  - name: audit-policy
    hostPath: %[1]s
    mountPath: %[1]s
    readOnly: true
  - name: audit-log
    hostPath: %[2]s
    mountPath: %[2]s
`, policyOnNode, logOnNode)
	}
	return text.String()
}

// Where the node has the audit policy and the audit log.
const (
	policyOnNode = "/etc/kubernetes/audit"
	logOnNode    = "/var/log/kubernetes/audit"
)

func (c *Cluster) policyFolder() string { return filepath.Join(c.Dir, "audit-policy") }
func (c *Cluster) logFolder() string    { return filepath.Join(c.Dir, "audit-log") }
