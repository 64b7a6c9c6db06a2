package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/framework/run/certify"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

// application reads the application of a certification from its file, or from the file in its folder. Charts are rendered for the version that the
// upgrade begins with.
func application(ctx context.Context, path, from string, upgrade scenario.Spec, out io.Writer) (*certify.Application, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, appfile.Name)
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("read the application: %w: 'holdfast init' writes such a file", err)
	}
	choice := appfile.Choice{File: path, Helm: manifests.Helm{Out: out, Kubernetes: from}}
	test, err := choice.Test(ctx)
	if err != nil {
		return nil, err
	}
	spec, err := test.Upgrade(certify.ApplicationScenario, upgrade)
	if err != nil {
		return nil, err
	}
	about := certificate.Application{Name: test.App.Namespace, Source: path, Digest: test.Digest(), Images: test.App.Images(), Notes: test.App.Notes}
	for _, p := range test.Probes {
		about.Probes = append(about.Probes, certificate.ApplicationProbe{Name: p.Name, URL: p.URL, Rate: cmp.Or(p.Rate, apptest.DefaultRate)})
	}
	return &certify.Application{Application: about, Upgrade: spec}, nil
}
