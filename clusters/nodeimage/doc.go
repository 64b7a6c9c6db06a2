// Package nodeimage provides the image that kind nodes run: kindest/node if the engine has it or a registry serves it,
// otherwise an equivalent that is built on this machine from Debian packages and Go modules, without a container registry.
//
// The package does not create clusters and does not modify a pulled image. For clusters with several control planes it also
// provides the image of the load balancer in front of them, see EnsureBalancer.
//
// # What a cluster must configure to use an image
//
// Every image that Ensure returns works with kind's defaults: leave networking.disableDefaultCNI alone and keep kind's pod
// and service subnets (a built image supports IPv4 only). On cgroup v1 every image needs failCgroupV1: false in the
// KubeletConfiguration, set with a kubeadmConfigPatch.
//
// A pulled image brings kindnet, a DaemonSet. A built image brings holdfast's own network agent instead: the systemd unit
// holdfast-net, which is enabled in the image and runs holdfast's executable (see package nodenet). Its Ref.Network is NetworkAgent (label holdfast.dev/network=agent). With the
// agent, disableDefaultCNI may be true or false, and nothing has to be applied to the cluster. On every node the agent
//
//   - waits for /etc/kubernetes/kubelet.conf, and on the control plane grants the nodes the permission to list nodes;
//   - writes /etc/cni/net.d/10-holdfast.conflist from the node's own podCIDR;
//   - keeps a route to every other node's podCIDR, and a route for the Service subnet, so that a process in the node's
//     network namespace reaches a ClusterIP without a default route;
//   - restores all of this after the node was killed and started again, from the last known list of nodes if the API server
//     is away. Pods that start again get addresses that no pod had before;
//   - removes the default route while the file /etc/holdfast/no-egress exists (checked once a second and at every start),
//     and rejects pods' connections to anything but pods, nodes and Services;
//   - masquerades pod traffic to any destination but pods, as kindnet does: see ruleset in package nodenet.
//
// The file is all that a cluster without egress needs. Create it in each node after the cluster was created, for example
// with "mkdir -p /etc/holdfast && touch /etc/holdfast/no-egress". To restore the default route, remove the file and restart
// the node. Without egress, CoreDNS answers a query for an external name with a failure, often only after some seconds, so
// nothing should look up external names. For that reason a built image removes the host's search domains from resolv.conf.
// A pulled image needs networking.dnsSearch: [] for the same effect.
//
// The source address that a pod sees is: for another pod, that pod's address; for a process on a node, that node's address
// in the pod network (the first of its podCIDR); for a NodePort connection, an address of a node or of the engine's host. A
// process on a node sees a pod on another node under that other node's address. Packets to an address in the pod range that
// no pod has are dropped, so such a connection times out.
package nodeimage
