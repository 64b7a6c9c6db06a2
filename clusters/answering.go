package clusters

import (
	"context"

	"k8s.io/client-go/rest"
)

// Check asks an API server something.
type Check func(ctx context.Context, config *rest.Config) error

type answering struct{}

// WhenAnswering returns a context in which a provider may call check as soon as the API server of a new cluster answers, while its nodes still
// join. The error of check is then that of Create. A provider that cannot do that does not call it.
func WhenAnswering(ctx context.Context, check Check) context.Context {
	return context.WithValue(ctx, answering{}, check)
}

// Answering calls the check of a context, if it has one.
func Answering(ctx context.Context, config *rest.Config) error {
	if check, has := ctx.Value(answering{}).(Check); has {
		return check(ctx, config)
	}
	return nil
}
