package plain

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// policy leaves out what the cluster's own components do all the time.
//
// Source: https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  userGroups: ["system:nodes", "system:serviceaccounts:kube-system"]
- level: None
  users: ["system:apiserver", "system:kube-controller-manager", "system:kube-scheduler", "system:kube-proxy"]
- level: Metadata
`

func (c *Cluster) writePolicy() error {
	for _, folder := range []string{c.policyFolder(), c.logFolder()} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(c.policyFolder(), "policy.yaml"), []byte(policy), 0o644)
}

// Request is a request in the API server's audit log.
type Request struct {
	Stage      string `json:"stage"` // ResponseComplete, or ResponseStarted of a watch
	Verb       string `json:"verb"`  // get, list, watch, create, patch, ...
	RequestURI string `json:"requestURI"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string   `json:"username"`
		Groups   []string `json:"groups"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func (r Request) String() string {
	return fmt.Sprintf("%s %s %s: %d", r.User.Username, r.Verb, r.RequestURI, r.ResponseStatus.Code)
}

// Writes reports whether the request changed something, or was meant to. A dry run and a question about the user's own permissions do not.
func (r Request) Writes() bool {
	switch r.Verb {
	case "get", "list", "watch":
		return false
	}
	return !strings.Contains(r.RequestURI, "dryRun=All") && !strings.HasPrefix(r.ObjectRef.Resource, "selfsubject")
}

// Audited are the requests of a user that the API server has written down. An empty user means everybody but the cluster's own components.
func (c *Cluster) Audited(user string) (all []Request, err error) {
	if !c.Audit {
		return nil, errors.New("read the audit log: the cluster was made without one")
	}
	file, err := os.Open(filepath.Join(c.logFolder(), "audit.log"))
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		if user == "" || r.User.Username == user {
			all = append(all, r)
		}
	}
	return all, lines.Err()
}
