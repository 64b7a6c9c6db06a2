package appfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-ha/holdfast/framework/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/workloads/app"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// Name is the file's usual name.
const Name = "holdfast.yaml"

// The version and the kind that a file must have.
const (
	APIVersion = "holdfast.dev/v1alpha1"
	Kind       = "App"
)

// File is the content of holdfast.yaml. Every field but apiVersion, kind, the manifests and a probe's URL has a default.
type File struct {
	APIVersion string  `yaml:"apiVersion"`
	Kind       string  `yaml:"kind"`
	App        App     `yaml:"app"`
	Probes     []Probe `yaml:"probes"`
	// Faults are what is done to the application; default: apptest.DefaultFaults.
	Faults []string `yaml:"faults"`
}

// App says what is deployed. Paths are relative to the file.
type App struct {
	Manifests []string `yaml:"manifests"` // files, folders or URLs
	Kustomize string   `yaml:"kustomize"` // a folder
	Namespace string   `yaml:"namespace"` // of objects that name none
	Images    []string `yaml:"images"`    // archives
}

// Probe is a request that is sent again and again, and the answer that is good.
type Probe struct {
	Name    string            `yaml:"name"`
	URL     string            `yaml:"url"`
	Method  string            `yaml:"method"`
	Headers map[string]string `yaml:"headers"`
	Body    string            `yaml:"body"`
	Expect  Expect            `yaml:"expect"`
	TLS     *TLS              `yaml:"tls"`
	Rate    float64           `yaml:"rate"`  // in requests a second on each lane
	Lanes   []string          `yaml:"lanes"` // fresh, reused
}

// Expect is the good answer; default: status 200.
type Expect struct {
	Status   []int  `yaml:"status"`
	Contains string `yaml:"contains"`
}

// TLS says how the certificate of an https URL is verified.
type TLS struct {
	CA         string `yaml:"ca"`         // a file with certificate authorities in PEM
	Unverified bool   `yaml:"unverified"` // trust any certificate
}

// Read reads a file. The error names the line and the column of each field that is not known.
func Read(path string) (File, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return File{}, err
	}
	f, err := parse(text)
	if err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	f.App.under(filepath.Dir(path))
	for i := range f.Probes {
		if t := f.Probes[i].TLS; t != nil && t.CA != "" && !filepath.IsAbs(t.CA) {
			t.CA = filepath.Join(filepath.Dir(path), t.CA)
		}
	}
	return f, nil
}

func parse(text []byte) (f File, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return f, err
	}
	if len(document.Content) == 0 {
		return f, fmt.Errorf("it is empty: want apiVersion: %s, kind: %s, app and probes", APIVersion, Kind)
	}
	if err := known(document.Content[0], f); err != nil {
		return f, err
	}
	if err := document.Decode(&f); err != nil {
		return f, err
	}
	switch {
	case f.APIVersion != APIVersion:
		return f, fmt.Errorf("apiVersion %q: this holdfast reads %s", f.APIVersion, APIVersion)
	case f.Kind != Kind:
		return f, fmt.Errorf("kind %q: want %s", f.Kind, Kind)
	case len(f.App.Manifests) == 0 && f.App.Kustomize == "":
		return f, errors.New("app: it names no manifests and no kustomize folder")
	}
	return f, nil
}

// under makes the paths of files below a folder.
func (a *App) under(folder string) {
	for _, list := range [][]string{a.Manifests, a.Images} {
		for i, path := range list {
			if !filepath.IsAbs(path) && !strings.Contains(path, "://") {
				list[i] = filepath.Join(folder, path)
			}
		}
	}
	if a.Kustomize != "" && !filepath.IsAbs(a.Kustomize) {
		a.Kustomize = filepath.Join(folder, a.Kustomize)
	}
}

// Sources are where the manifests are.
func (f File) Sources() app.Sources {
	return app.Sources{Files: f.App.Manifests, Kustomize: f.App.Kustomize}
}

// ProbesOf are the probes as package apptest has them. It reads the files of certificate authorities.
func (f File) ProbesOf() (all []apptest.Probe, err error) {
	for i, p := range f.Probes {
		made := apptest.OfURL(p.URL, i)
		if p.Name != "" {
			made.Name = p.Name
		}
		made.Request = load.Request{Method: p.Method, Headers: p.Headers, Body: p.Body}
		made.Expect = expect.Answer{Status: p.Expect.Status, Contains: p.Expect.Contains}
		made.Rate = p.Rate
		for _, lane := range p.Lanes {
			made.Lanes = append(made.Lanes, history.Lane(lane))
		}
		if p.TLS != nil {
			made.Request.TLS = &load.TLS{Unverified: p.TLS.Unverified}
			if p.TLS.CA != "" {
				pem, err := os.ReadFile(p.TLS.CA)
				if err != nil {
					return nil, fmt.Errorf("probe %s: read its certificate authority: %w", made.Name, err)
				}
				made.Request.TLS.CA = string(pem)
			}
		}
		all = append(all, made)
	}
	return all, nil
}
