// Package nodeimage finds, pulls or builds the image that a kind node runs: kindest/node where a registry has it, else
// an equivalent made on this machine from Debian packages and Go modules, without any container registry.
//
// It does not make clusters, and it changes nothing of an image that was pulled. For several control planes it also gets the
// image of the load balancer before them, see EnsureBalancer.
//
// # What a cluster must say to use an image
//
// Any image that Ensure returns works with kind's own defaults: networking.disableDefaultCNI left alone, pod and
// service subnets as kind has them (IPv4 only for a built image). On cgroup v1 every image needs failCgroupV1: false in
// the KubeletConfiguration, by a kubeadmConfigPatch.
//
// A pulled image brings kindnet, a DaemonSet. A built one brings an agent of ours instead, a systemd unit called
// holdfast-net that is enabled in the image, and Ref.Network is NetworkAgent (label holdfast.dev/network=agent). There
// disableDefaultCNI may be true or false; nothing has to be applied to the cluster. On every node the agent
//
//   - waits for /etc/kubernetes/kubelet.conf, and on the control plane gives the nodes the right to list nodes;
//   - writes /etc/cni/net.d/10-holdfast.conflist from the node's own podCIDR;
//   - keeps a route to every other node's podCIDR, and one for the Service subnet, so that a process in the node's own
//     network reaches a ClusterIP without a default route;
//   - brings all of that back after the node was killed and started, from what it last knew where the API server is
//     away. The pods that start again get addresses that none of them had before;
//   - removes the default route while the file /etc/holdfast/no-egress exists (looked at once a second, and again after
//     a restart), and then refuses pods' connections to anything that is neither a pod nor a node nor a Service;
//   - masquerades what pods send to anything but a pod, as kind's own network does: see ruleset in package agent.
//
// The file is all that a cluster without egress needs: create it in each node after the cluster was made, for example
// with "mkdir -p /etc/holdfast && touch /etc/holdfast/no-egress". To bring the default route back, remove the file and
// restart the node. There CoreDNS answers a foreign name with a failure, often only after some seconds, so nothing
// should look one up: a built image takes the host's search domains out of resolv.conf, which a pulled one needs
// networking.dnsSearch: [] for.
//
// What a pod sees: of another pod, its own address; of a process on a node, that node's own address among the pods
// (the first of its podCIDR); through a NodePort, an address of a node or of the engine's host. What a process on a node
// sees of a pod on another node is that node's address. A connection to an
// address of a pod range that no pod has is dropped and so times out.
package nodeimage
