package scaletest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"path"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// compressAbove is the size in bytes above which an API server compresses an answer.
// Source: defaultGzipThresholdBytes in k8s.io/apiserver/pkg/endpoints/handlers/responsewriters
const compressAbove = 128 << 10

// lists are the kinds of the lists that are served.
var lists = map[string]schema.GroupVersionKind{
	"nodes": {Version: "v1", Kind: "NodeList"}, "pods": {Version: "v1", Kind: "PodList"}, "services": {Version: "v1", Kind: "ServiceList"},
	"configmaps": {Version: "v1", Kind: "ConfigMapList"}, "deployments": {Group: "apps", Version: "v1", Kind: "DeploymentList"},
	"statefulsets": {Group: "apps", Version: "v1", Kind: "StatefulSetList"}, "replicasets": {Group: "apps", Version: "v1", Kind: "ReplicaSetList"},
	"poddisruptionbudgets": {Group: "policy", Version: "v1", Kind: "PodDisruptionBudgetList"},
	"endpointslices":       {Group: "discovery.k8s.io", Version: "v1", Kind: "EndpointSliceList"},
}

// answer is one page in one encoding.
type answer struct {
	plain, compressed []byte
}

// Server answers lists of a large cluster.
type Server struct {
	// Lists counts the lists of pods that were begun, and Bytes what was sent of all lists.
	Lists, Bytes atomic.Int64
	pages        map[string]answer
}

// New returns a server of a cluster with so many pods, and says how many bytes of JSON an average pod has. Pages have the sizes that are
// asked for, which must be among these.
func New(pods int, pageSizes ...int) (s *Server, podBytes int, err error) {
	s = &Server{pages: map[string]answer{}}
	c := newCluster(pods)
	for resource, kind := range lists {
		for _, size := range pageSizes {
			if err := s.encode(resource, kind, c.objects[resource], size); err != nil {
				return nil, 0, fmt.Errorf("encode a list of %s: %w", resource, err)
			}
		}
	}
	first := s.pages[key("pods", pageSizes[0], 0, runtime.ContentTypeJSON)]
	return s, len(first.plain) / min(pageSizes[0], pods), nil
}

func key(resource string, size, from int, contentType string) string {
	return fmt.Sprintf("%s %d %d %s", resource, size, from, contentType)
}

// encode stores all pages of a list in both encodings.
func (s *Server) encode(resource string, kind schema.GroupVersionKind, objects []runtime.Object, size int) error {
	for from := 0; from == 0 || from < len(objects); from += size {
		list, err := scheme.Scheme.New(kind)
		if err != nil {
			return err
		}
		to := min(from+size, len(objects))
		if err := setItems(list, objects[from:to]); err != nil {
			return err
		}
		about, err := meta.ListAccessor(list)
		if err != nil {
			return err
		}
		about.SetResourceVersion("123456789")
		if to < len(objects) {
			about.SetContinue(strconv.Itoa(to))
		}
		for _, info := range scheme.Codecs.SupportedMediaTypes() {
			if info.MediaType != runtime.ContentTypeJSON && info.MediaType != runtime.ContentTypeProtobuf {
				continue
			}
			var plain bytes.Buffer
			if err := scheme.Codecs.EncoderForVersion(info.Serializer, kind.GroupVersion()).Encode(list, &plain); err != nil {
				return err
			}
			s.pages[key(resource, size, from, info.MediaType)] = answer{plain.Bytes(), compress(plain.Bytes())}
		}
	}
	return nil
}

// setItems is meta.SetList for objects that the list holds by value.
func setItems(list runtime.Object, objects []runtime.Object) error {
	items, err := meta.GetItemsPtr(list)
	if err != nil {
		return err
	}
	slice := reflect.ValueOf(items).Elem()
	all := reflect.MakeSlice(slice.Type(), 0, len(objects))
	for _, o := range objects {
		all = reflect.Append(all, reflect.ValueOf(o).Elem())
	}
	slice.Set(all)
	return nil
}

func compress(plain []byte) []byte {
	if len(plain) <= compressAbove {
		return nil
	}
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is valid, and memory takes everything
	_, _ = w.Write(plain)
	_ = w.Close()
	return out.Bytes()
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	contentType := runtime.ContentTypeJSON
	if strings.Contains(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		contentType = runtime.ContentTypeProtobuf
	}
	resource, query := path.Base(r.URL.Path), r.URL.Query()
	size, _ := strconv.Atoi(query.Get("limit"))
	from, _ := strconv.Atoi(query.Get("continue"))
	page, known := s.pages[key(resource, size, from, contentType)]
	if r.Method != http.MethodGet || !known {
		http.Error(w, fmt.Sprintf("%s %s is not served", r.Method, r.URL), http.StatusNotFound)
		return
	}
	if resource == "pods" && from == 0 {
		s.Lists.Add(1)
	}
	w.Header().Set("Content-Type", contentType)
	body := page.plain
	if page.compressed != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		body = page.compressed
	}
	n, _ := w.Write(body)
	s.Bytes.Add(int64(n))
}
