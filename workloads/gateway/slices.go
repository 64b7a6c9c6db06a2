package gateway

import (
	"context"
	"fmt"
	"net"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	informers "k8s.io/client-go/informers/discovery/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// inCluster connects as the pod's service account, which may list and watch EndpointSlices.
func inCluster() (kubernetes.Interface, error) {
	config, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return client, nil
}

// follow hands on the addresses of a service's ready endpoints, first when all are known and then at each change, until
// ctx ends. While the API server is away the last ones stay.
func follow(ctx context.Context, client kubernetes.Interface, namespace, service string, set func([]string)) error {
	informer := informers.NewFilteredEndpointSliceInformer(client, namespace, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = discoveryv1.LabelServiceName + "=" + service })
	update := func(any) {
		if informer.HasSynced() {
			set(addresses(informer.GetStore().List()))
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: update, DeleteFunc: update, UpdateFunc: func(_, _ any) { update(nil) },
	})
	if err != nil {
		return fmt.Errorf("watch the endpoints of %s/%s: %w", namespace, service, err)
	}
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
			update(nil) // there may be no endpoint, and so no event
		}
	}()
	informer.RunWithContext(ctx)
	return nil
}

// addresses of the endpoints that are ready, which those of ending pods are not. A slice has the service's one port.
func addresses(slices []any) []string {
	var all []string
	for _, item := range slices {
		slice, ok := item.(*discoveryv1.EndpointSlice)
		if !ok || len(slice.Ports) == 0 || slice.Ports[0].Port == nil {
			continue
		}
		port := strconv.Itoa(int(*slice.Ports[0].Port))
		for _, e := range slice.Endpoints {
			// An unknown condition counts as ready. Source:
			// https://kubernetes.io/docs/concepts/services-networking/endpoint-slices/#conditions
			if len(e.Addresses) > 0 && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
				all = append(all, net.JoinHostPort(e.Addresses[0], port))
			}
		}
	}
	return all
}
