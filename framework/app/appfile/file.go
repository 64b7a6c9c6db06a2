package appfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/deploy/images"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/app"
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
	APIVersion string   `yaml:"apiVersion"` // holdfast.dev/v1alpha1
	Kind       string   `yaml:"kind"`       // App
	Cluster    Cluster  `yaml:"cluster"`    // the cluster in which the application runs already, for holdfast plan
	App        App      `yaml:"app"`        // what is deployed, or where it runs already
	Probes     []Probe  `yaml:"probes"`     // the requests that show whether the application serves
	Promises   Promises `yaml:"promises"`   // what is promised of their requests, where it is not the default
	Faults     Faults   `yaml:"faults"`     // what is done to the application: rollout, or of one workload, also of one that no probe reaches, {rollout: web}; default: rollout, drain, delete-pod, scale, node-kill; with a cluster: rollout, delete-pod, scale
	Disturb    *Disturb `yaml:"disturb"`    // bounds what is done to that cluster
}

// App says what is deployed. Paths are relative to the file.
type App struct {
	Manifests  []string `yaml:"manifests"`  // files, folders or URLs
	Kustomize  string   `yaml:"kustomize"`  // a folder with a kustomization
	Chart      *Chart   `yaml:"chart"`      // a Helm chart
	Before     []string `yaml:"before"`     // files, folders or URLs with what must be ready before all else, such as operators
	Without    []string `yaml:"without"`    // kinds of which all objects are left out, such as ServiceMonitor or Certificate.cert-manager.io; reports say so; default: those by which no request is answered, if nothing defines them and the cluster is made for the test
	Secrets    string   `yaml:"secrets"`    // for Secrets that are absent: generate makes them with random values; default: each is an error
	Namespace  string   `yaml:"namespace"`  // of objects that name no namespace; default: app
	Images     []string `yaml:"images"`     // archives of 'docker save', or names of images
	Privileged bool     `yaml:"privileged"` // its pods may be root on their nodes, and so on this machine; default: pods in kube-system, volumes that are folders of nodes, and what the Pod Security level baseline refuses are refused
	Pull       string   `yaml:"pull"`       // for images that are neither given nor in the local engine: missing pulls them (default), never asks no registry
}

// Chart is a Helm chart.
type Chart struct {
	Path    string   `yaml:"path"`    // a folder or an archive
	Values  []string `yaml:"values"`  // files or URLs
	Release string   `yaml:"release"` // default: the chart's name
}

// FromOutside is the only value of Probe.From.
const FromOutside = "outside"

// Probe is a request that is sent again and again, and the answer that is good.
type Probe struct {
	Name    string            `yaml:"name"`    // stands in reports; default: the name of the Service
	URL     string            `yaml:"url"`     // an http, https, ws or wss URL of a Service of the application; of a headless one with the port of its pods
	TCP     string            `yaml:"tcp"`     // host:port, in place of a URL
	GRPC    string            `yaml:"grpc"`    // host:port of a server with a health service, or with call, in place of a URL; it is asked without TLS, unless there is tls
	Service string            `yaml:"service"` // with grpc: what the health service is asked for; default: the whole server
	Method  string            `yaml:"method"`  // default: GET
	Headers map[string]Header `yaml:"headers"` // each is a text, or comes from a Secret; with call: metadata
	Body    string            `yaml:"body"`    // of the request; with tcp: what is sent; with call: the message, as JSON
	Expect  Expect            `yaml:"expect"`  // the good answer
	TLS     *TLS              `yaml:"tls"`     // how the certificate of an https or wss URL is verified; with grpc: the server is asked over TLS; {} trusts the usual certificate authorities
	Behind  []string          `yaml:"behind"`  // Services to which the pods of that Service, a proxy, send requests on
	From    string            `yaml:"from"`    // outside: as clients outside of the cluster ask a Service of type NodePort, at its node port of each worker in turn, or of type LoadBalancer, at the address of its load balancer, or with the number of a node port in the URL at the nodes; default: as pods do
	Rate    Rate              `yaml:"rate"`    // in requests a second on each lane; default: 50, or less where many lanes share 400
	Idle    *Idle             `yaml:"idle"`    // how long a kept connection is idle between two requests, give or take a tenth, such as 5s, so that a server's keep-alive time-out of that length is met; at most 1m, and not for HTTP/2; default: as short as the rate has it
	Lanes   []string          `yaml:"lanes"`   // which connections are used: a new one for each request (fresh, h2c-fresh, h2-fresh, tcp, ws), or kept ones (reused, h2c, h2, tcp-kept, ws-kept); fresh and reused speak HTTP/1.1, h2c and h2c-fresh HTTP/2 without TLS, h2 and h2-fresh HTTP/2 over TLS; default: both of the protocol, for http and https URLs HTTP/1.1

	Subprotocols []string `yaml:"subprotocols"` // with a ws or wss URL: what the server is offered, of which it must choose one

	Send        string `yaml:"send"`        // with a ws or wss URL: the message, which one message must answer; default: none, and a new connection is a good answer
	Call        Call   `yaml:"call"`        // with grpc: a method with one message and one answer, such as orders.v1.Orders/Get, in place of the health service
	Descriptors string `yaml:"descriptors"` // with call: a file of 'protoc --descriptor_set_out --include_imports'; default: the server's reflection service is asked
}

// TLS says how a server's certificate is verified.
type TLS struct {
	CA         string `yaml:"ca"`         // a file with certificate authorities in PEM; default: the public ones
	Unverified bool   `yaml:"unverified"` // trust any certificate, which the report says; not together with ca
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
		f.Probes[i].under(filepath.Dir(path))
	}
	return f, nil
}

func parse(text []byte) (f File, err error) {
	var document, next yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for err = documents.Decode(&document); err == nil; err = documents.Decode(&next) {
		if len(next.Content) > 0 && next.Content[0].Tag != "!!null" {
			return f, fmt.Errorf("line %d: a second document begins: a file is about one application, so write another file for it", next.Content[0].Line)
		}
	}
	if !errors.Is(err, io.EOF) {
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
	if err := faultsKnown(document.Content[0], f.Cluster.UID != ""); err != nil {
		return f, err
	}
	switch {
	case f.APIVersion != APIVersion:
		return f, fmt.Errorf("apiVersion %q: this holdfast reads %s", f.APIVersion, APIVersion)
	case f.Kind != Kind:
		return f, fmt.Errorf("kind %q: want %s", f.Kind, Kind)
	case f.App.Namespace != "" && len(validation.IsDNS1123Label(f.App.Namespace)) > 0:
		return f, fmt.Errorf("app.namespace %q: want a name of lower-case letters, digits and dashes", f.App.Namespace)
	case f.App.Chart != nil && f.App.Chart.Path == "":
		return f, errors.New("app.chart: it has no path")
	case f.Disturb != nil && f.Cluster.UID == "":
		return f, errors.New("disturb: it is about a cluster that holdfast did not make: name it with cluster: {uid: ...}, which holdfast plan shows")
	case f.Sources().Empty() && f.Cluster.UID == "":
		return f, errors.New("app: it names no manifests, no kustomize folder and no chart")
	}
	return f, nil
}

// under makes the paths of files below a folder.
func (a *App) under(folder string) {
	below := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) && !strings.Contains(*path, "://") {
			*path = filepath.Join(folder, *path)
		}
	}
	lists := [][]string{a.Manifests, a.Before}
	if a.Chart != nil {
		below(&a.Chart.Path)
		lists = append(lists, a.Chart.Values)
	}
	for _, list := range lists {
		for i := range list {
			below(&list[i])
		}
	}
	for i, image := range a.Images {
		a.Images[i] = images.Under(folder, image)
	}
	below(&a.Kustomize)
}

// Sources are where the manifests are.
func (f File) Sources() app.Sources {
	s := app.Sources{Files: f.App.Manifests, Kustomize: f.App.Kustomize, Before: f.App.Before, Without: f.App.Without}
	if c := f.App.Chart; c != nil {
		s.Chart = app.Chart{Path: c.Path, Values: c.Values, Release: c.Release}
	}
	return s
}

// ProbesOf are the probes as package apptest has them. It reads the files of certificate authorities.
func (f File) ProbesOf() (all []apptest.Probe, err error) {
	for i, p := range f.Probes {
		made, err := p.of(i)
		if err != nil {
			return nil, err
		}
		if p.Name != "" {
			made.Name = p.Name
		}
		if p.From != "" && p.From != FromOutside {
			return nil, fmt.Errorf("probe %s: from: %q: want %s, or leave it out", made.Name, p.From, FromOutside)
		}
		made.Rate, made.Behind, made.Outside, made.Like = float64(p.Rate), p.Behind, p.From != "", bool(p.Expect.Like)
		if p.Idle != nil {
			made.Idle = p.Idle.Duration
		}
		if err := p.secrets(&made); err != nil {
			return nil, err
		}
		for _, lane := range p.Lanes {
			made.Lanes = append(made.Lanes, history.Lane(lane))
		}
		if p.TLS != nil {
			made.Request.TLS = &request.TLS{Unverified: p.TLS.Unverified}
			if p.TLS.CA != "" {
				pem, err := os.ReadFile(p.TLS.CA)
				if err != nil {
					return nil, fmt.Errorf("probe %s: read its certificate authority: %w", made.Name, err)
				}
				if len(pem) == 0 { // which would mean all public authorities
					return nil, fmt.Errorf("probe %s: its certificate authority %s is empty", made.Name, p.TLS.CA)
				}
				made.Request.TLS.CA = string(pem)
			}
		}
		all = append(all, made)
	}
	return all, nil
}

// of is the probe of a URL, a TCP server or a gRPC server.
func (p Probe) of(n int) (made apptest.Probe, err error) {
	given := 0
	for _, one := range []string{p.URL, p.TCP, p.GRPC} {
		if one != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return made, fmt.Errorf("probe %d: want one of url, tcp and grpc", n+1)
	case p.Call.Method != "" && p.GRPC == "", p.Descriptors != "" && p.Call.Method == "":
		return made, fmt.Errorf("probe %d: call is for grpc, and descriptors are for call", n+1)
	case (p.Send != "" || len(p.Subprotocols) > 0) && !p.socket():
		return made, fmt.Errorf("probe %d: send and subprotocols are for a ws or wss URL", n+1)
	case p.TLS != nil && p.GRPC == "" && !strings.HasPrefix(p.URL, "https:") && !strings.HasPrefix(p.URL, "wss:"):
		return made, fmt.Errorf("probe %d: tls is for an https or wss URL, or for grpc", n+1)
	case p.Call.Method != "":
		return p.call(n)
	case p.socket():
		return p.webSocket(n)
	case p.GRPC != "":
		if p.Method != "" || len(p.Headers) > 0 || p.Body != "" || !p.Expect.zero() {
			return made, fmt.Errorf("probe %d: a health check has no method, headers, body or expectation of its own", n+1)
		}
		return apptest.OfHealth(p.grpcServer(), p.Service, n), nil
	case p.Service != "":
		return made, fmt.Errorf("probe %d: service is for grpc", n+1)
	case p.TCP != "":
		if p.Method != "" || len(p.Headers) > 0 || !p.Expect.textOnly() {
			return made, fmt.Errorf("probe %d: TCP has no method or headers, and expects a text only", n+1)
		}
		made = apptest.OfURL("tcp://"+p.TCP, n)
	default:
		made = apptest.OfURL(p.URL, n)
	}
	made.Request = request.Request{Method: p.Method, Headers: texts(p.Headers), Body: p.Body}
	made.Expect, err = p.Expect.answer(false)
	return made, err
}
