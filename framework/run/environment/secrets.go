package environment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// secretLimit is how long a Secret may take to exist after the application is ready: some are made by controllers.
const secretLimit = 30 * time.Second

// loadWithSecrets creates the load workers whose requests carry values of the application's Secrets. They are created after the Secrets:
// the kubelet mounts what is there when a pod starts, and looks for changes once a minute.
func (env *Environment) loadWithSecrets(ctx context.Context) error {
	workers := env.loadWorkers()
	if len(workers.Secrets) == 0 {
		return nil
	}
	client, err := metadata.NewForConfig(env.config)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(workers.Secrets)) {
		if err := secretExists(ctx, client, env.namespace, name); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(workers.Secrets)) {
		if err := env.lendSecret(ctx, name, workers.Secrets[name]); err != nil {
			return err
		}
	}
	objects, err := workers.Objects(env.loadPlace())
	if err != nil {
		return err
	}
	return env.create(ctx, objects...)
}

// lendSecret copies the keys of a Secret that requests carry, and no other, to where the load workers are: a pod mounts Secrets of its own namespace.
func (env *Environment) lendSecret(ctx context.Context, name string, keys []string) error {
	found, err := env.client.CoreV1().Secrets(env.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read Secret %s of namespace %s for the load workers: %w", name, env.namespace, err)
	}
	lent := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{}}
	for _, key := range keys {
		if value, is := found.Data[key]; is {
			lent.Data[key] = value
		}
	}
	if _, err := env.client.CoreV1().Secrets(env.Spec.LoadNamespace()).Create(ctx, lent, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create Secret %s for the load workers: %w", name, err)
	}
	return nil
}

// secretExists waits for a Secret. Only its metadata is read. Whether it has the key, the load worker says.
func secretExists(ctx context.Context, client metadata.Interface, namespace, name string) error {
	err := poll.Until(ctx, "Secret "+name+" to exist in namespace "+namespace, secretLimit, func(ctx context.Context) (bool, string, error) {
		_, err := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, "no such Secret", nil
		}
		return err == nil, "", err
	})
	if err != nil {
		return fmt.Errorf("a probe has a header from Secret %s: add it to the manifests, or correct fromSecret: %w", name, err)
	}
	return nil
}
