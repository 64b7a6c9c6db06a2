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

// inCluster connects with the pod's service account, which may list and watch EndpointSlices.
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

// follow passes the addresses of a Service's ready endpoints to set: first when all are known, then at each change, until
// ctx ends. While the API server is away the last addresses stay in use.
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
			update(nil) // without any endpoint there is no event
		}
	}()
	informer.RunWithContext(ctx)
	return nil
}

// addresses of ready endpoints; the endpoints of terminating pods are not ready. A slice has the Service's only port.
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
