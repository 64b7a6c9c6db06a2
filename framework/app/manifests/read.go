package manifests

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// GenerateSecrets is the value of Options.Secrets with which absent Secrets are made.
const GenerateSecrets = "generate"

// Options say how an application is read.
type Options struct {
	Namespace string // of objects that name none; empty: app.DefaultNamespace
	Secrets   string // GenerateSecrets, or empty: those that are absent are errors
	Helm      Helm
	Existing  bool // the cluster of the test is there already, and may have kinds that no manifest defines
}

// Read reads an application.
func Read(ctx context.Context, from app.Sources, o Options) (app.App, error) {
	if o.Secrets != "" && o.Secrets != GenerateSecrets {
		return app.App{}, fmt.Errorf("secrets %q: want %s, or leave it out", o.Secrets, GenerateSecrets)
	}
	if c := from.Chart; c.Path == "" && (len(c.Values) > 0 || c.Release != "") {
		return app.App{}, errors.New("values or a release without a Helm chart: name the chart with --chart")
	}
	manifests, err := app.Read(from)
	if err != nil {
		return app.App{}, err
	}
	if from.Chart.Path != "" {
		rendered, err := o.Helm.render(ctx, from.Chart, o.Namespace, manifests)
		if err != nil {
			return app.App{}, err
		}
		manifests = append(manifests, rendered...)
	}
	a, err := app.NewOn(o.Existing, manifests, o.Namespace, from.Without...)
	if err != nil || o.Secrets == "" {
		return a, err
	}
	a, gaps := Generate(a)
	a.Notes = append(a.Notes, gaps...)
	return a, nil
}
