#!/bin/sh
# An administrator's upgrade of a cluster that kubeadm made, as its documentation tells: the control plane, then each worker, which is drained before. With
# CARELESS=1 no worker is drained, and all containers of a worker are killed, as by an upgrade of the container runtime.
#
# Source: https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-upgrade/
#
# ON runs a command on a node, K is kubectl, NEW is the folder of the new programs on each node, and TO their version.
set -eu

swap_kubelet() {
  $ON "$1" sh -ec "systemctl stop kubelet
    if [ '${2:-}' = killing ]; then ctr -n k8s.io tasks ls -q | xargs -r -n 1 ctr -n k8s.io tasks kill --signal SIGKILL; fi
    for program in kubeadm kubelet kubectl; do cp $NEW/\$program /usr/bin/\$program.new; mv /usr/bin/\$program.new /usr/bin/\$program; done
    systemctl daemon-reload; systemctl start kubelet"
  until $K get node "$1" -o 'jsonpath={.status.nodeInfo.kubeletVersion}' | grep -qx "$TO"; do sleep 1; done
  $K wait --for=condition=Ready "node/$1" --timeout 120s
}

control=$($K get nodes -l node-role.kubernetes.io/control-plane -o 'jsonpath={.items[0].metadata.name}')
$ON "$control" "$NEW/kubeadm" upgrade apply --yes "$TO" --ignore-preflight-errors=all
until $K get --raw /readyz >/dev/null; do sleep 1; done
swap_kubelet "$control"
until $K get --raw /readyz >/dev/null; do sleep 1; done

for worker in $($K get nodes -l '!node-role.kubernetes.io/control-plane' -o 'jsonpath={.items[*].metadata.name}'); do
  if [ "${CARELESS:-}" = 1 ]; then
    $ON "$worker" "$NEW/kubeadm" upgrade node --ignore-preflight-errors=all
    swap_kubelet "$worker" killing
  else
    $K drain "$worker" --ignore-daemonsets --delete-emptydir-data --timeout 180s
    $ON "$worker" "$NEW/kubeadm" upgrade node --ignore-preflight-errors=all
    swap_kubelet "$worker"
    $K uncordon "$worker"
  fi
  $K -n shop rollout status deployment/web --timeout 180s
done
