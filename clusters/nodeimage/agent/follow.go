package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// nodeObject is the part of a Kubernetes Node that the agent needs.
type nodeObject struct {
	Metadata struct {
		Name            string `json:"name"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
	Spec struct {
		PodCIDRs []string `json:"podCIDRs"`
	} `json:"spec"`
	Status struct {
		Addresses []struct{ Type, Address string } `json:"addresses"`
	} `json:"status"`
}

func (o nodeObject) node() node {
	var ips []string
	for _, address := range o.Status.Addresses {
		if address.Type == "InternalIP" {
			ips = append(ips, address.Address)
		}
	}
	return node{Name: o.Metadata.Name, IP: firstIPv4(ips), PodCIDR: firstIPv4(o.Spec.PodCIDRs)}
}

// follow sends the nodes, sorted by name, whenever a node may have changed, until ctx ends. It retries while the API server
// is away.
func follow(ctx context.Context, at paths, heard chan<- []node) {
	granted, last := false, ""
	for {
		err := func() error {
			if _, err := os.Stat(at.admin); err == nil && !granted {
				if err := grant(ctx, at.admin); err != nil {
					return err
				}
				granted = true
			}
			return watch(ctx, at.kubelet, heard)
		}()
		if err != nil && err.Error() != last { // log a repeated error once, not twice a second
			last = err.Error()
			slog.Info("not following the nodes", "why", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryIn):
		}
	}
}

// watch lists the nodes and follows their changes until the server ends the watch.
func watch(ctx context.Context, kubeconfig string, heard chan<- []node) error {
	api, err := connect(kubeconfig)
	if err != nil {
		return err
	}
	defer api.close()
	var list struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Items []nodeObject `json:"items"`
	}
	if err := api.read(ctx, "/api/v1/nodes", &list); err != nil {
		return err
	}
	known := map[string]node{}
	for _, item := range list.Items {
		known[item.Metadata.Name] = item.node()
	}
	if err := tell(ctx, heard, known); err != nil {
		return err
	}
	body, err := api.get(ctx, "/api/v1/nodes?watch=1&timeoutSeconds=300&resourceVersion="+list.Metadata.ResourceVersion)
	if err != nil {
		return err
	}
	defer body.Close() //nolint:errcheck // read to its end, or not needed
	return events(ctx, body, known, heard)
}

// events applies the events of a watch to known until the watch ends regularly.
func events(ctx context.Context, body io.Reader, known map[string]node, heard chan<- []node) error {
	lines := json.NewDecoder(body)
	for {
		var event struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := lines.Decode(&event); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("watch the nodes: %w", err)
		}
		if event.Type == "ERROR" {
			return fmt.Errorf("watch the nodes: the server says %s", event.Object)
		}
		var object nodeObject
		if err := json.Unmarshal(event.Object, &object); err != nil {
			return fmt.Errorf("read a node: %w", err)
		}
		known[object.Metadata.Name] = object.node()
		if event.Type == "DELETED" {
			delete(known, object.Metadata.Name)
		}
		if err := tell(ctx, heard, known); err != nil {
			return err
		}
	}
}

func tell(ctx context.Context, heard chan<- []node, known map[string]node) error {
	nodes := make([]node, 0, len(known))
	for _, n := range known {
		nodes = append(nodes, n)
	}
	slices.SortFunc(nodes, func(a, b node) int { return strings.Compare(a.Name, b.Name) })
	select {
	case heard <- nodes:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// grant lets every node list all nodes. Since Kubernetes 1.32 the node authorizer lets a kubelet read no Node but its own;
// RBAC rules grant permissions in addition.
func grant(ctx context.Context, adminConfig string) error {
	api, err := connect(adminConfig)
	if err != nil {
		return err
	}
	defer api.close()
	const role = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"holdfast:nodes"},
		"rules":[{"apiGroups":[""],"resources":["nodes"],"verbs":["get","list","watch"]}]}`
	const binding = `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRoleBinding","metadata":{"name":"holdfast:nodes"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"holdfast:nodes"},
		"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"system:nodes"}]}`
	for resource, object := range map[string]string{"clusterroles": role, "clusterrolebindings": binding} {
		status, err := api.create(ctx, "/apis/rbac.authorization.k8s.io/v1/"+resource, bytes.NewBufferString(object))
		if err != nil {
			return err
		}
		if status != http.StatusCreated && status != http.StatusConflict {
			return fmt.Errorf("create %s: status %d", resource, status)
		}
	}
	return nil
}
