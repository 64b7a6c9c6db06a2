package kind

import (
	"os"
	"path/filepath"
)

// auditOnNode is the folder of the audit policy and log on the control plane of a plain cluster.
const auditOnNode = "/var/log/kubernetes/audit"

// auditPatch makes the API server write an audit log. Like controlPlanePatch it has maps, because kind applies it to kubeadm's v1beta3 configuration.
const auditPatch = `kind: ClusterConfiguration
apiServer:
  extraArgs:
    audit-policy-file: ` + auditOnNode + `/policy.yaml
    audit-log-path: ` + auditOnNode + `/audit.log
  extraVolumes:
  - {name: audit, hostPath: ` + auditOnNode + `, mountPath: ` + auditOnNode + `}
`

// auditPolicy leaves out what the cluster's own components do all the time.
//
// Source: https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  userGroups: ["system:nodes", "system:serviceaccounts:kube-system"]
- level: None
  users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy"]
- level: Metadata
`

func auditFolder(state string) string { return filepath.Join(state, "audit") }

func writeAuditPolicy(name string) error {
	state, err := StateDir(name)
	if err != nil {
		return err
	}
	folder := auditFolder(state)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "policy.yaml"), []byte(auditPolicy), 0o644)
}
