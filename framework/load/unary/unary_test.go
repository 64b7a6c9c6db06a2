package unary_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
	"github.com/holdfast-ha/holdfast/framework/load/unary"
)

const get = "orders.v1.Orders/Get"

// wants reports an error that is not the wanted one; empty: none is.
func wants(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// edited is the descriptor set after a change.
func edited(t *testing.T, change func(*descriptorpb.FileDescriptorSet)) []byte {
	t.Helper()
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(loadtest.OrdersSet(t), &set); err != nil {
		t.Fatal(err)
	}
	change(&set)
	made, err := proto.Marshal(&set)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestMethodsOfADescriptorSet(t *testing.T) {
	whole := loadtest.OrdersSet(t)
	for name, test := range map[string]struct {
		set        []byte
		call, want string
	}{
		"a method":           {whole, get, ""},
		"no such method":     {whole, "orders.v1.Orders/Gett", "service orders.v1.Orders has no method Gett: it has Get, Watch"},
		"another case":       {whole, "orders.v1.Orders/get", "it has Get, Watch"},
		"no such service":    {whole, "orders.v1.Order/Get", "the descriptor set has no service orders.v1.Order: it has orders.v1.Orders"},
		"a streaming method": {whole, "orders.v1.Orders/Watch", "method orders.v1.Orders/Watch is streaming: a probe calls methods with one message and one answer. Service orders.v1.Orders has Get"},
		"no method":          {whole, "orders.v1.Orders", `"orders.v1.Orders" is no method: want PACKAGE.SERVICE/METHOD`},
		"a path":             {whole, "orders.v1.Orders/Get/x", "is no method"},
		"a proto file":       {[]byte("syntax = \"proto3\";"), get, "it is no descriptor set"},
		"no set":             {nil, get, "the descriptor set has no service orders.v1.Orders: it has none"},
		"without imports":    {edited(t, func(s *descriptorpb.FileDescriptorSet) { s.File = s.File[1:] }), get, "--include_imports': could not resolve import \"google/protobuf/timestamp.proto\""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := unary.FromSet(test.set, test.call)
			wants(t, err, test.want)
		})
	}
}

// A method's own descriptors are a set of the same method, without files that it does not need.
func TestASetHasWhatItsMethodNeeds(t *testing.T) {
	other := &descriptorpb.FileDescriptorProto{Name: proto.String("other.proto")}
	m, err := unary.FromSet(edited(t, func(s *descriptorpb.FileDescriptorSet) { s.File = append(s.File, other) }), get)
	if err != nil {
		t.Fatal(err)
	}
	made, err := m.Set()
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(made, &set); err != nil || len(set.File) != 2 {
		t.Errorf("%d files, %v", len(set.File), err)
	}
	if _, err := unary.FromSet(made, get); err != nil {
		t.Error(err)
	}
	large := edited(t, func(s *descriptorpb.FileDescriptorSet) {
		for i := range 10_000 {
			s.File[1].MessageType = append(s.File[1].MessageType, &descriptorpb.DescriptorProto{Name: proto.String(fmt.Sprintf("AMessageWithALongName%d", i))})
		}
	})
	if m, err = unary.FromSet(large, get); err != nil {
		t.Fatal(err)
	}
	_, err = m.Set()
	wants(t, err, "more than 262144: leave descriptors out")
}

func TestMessagesFromJSON(t *testing.T) {
	m, err := unary.FromSet(loadtest.OrdersSet(t), get)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]string{
		``: "", `{}`: "", `{"id": 1}`: "", `{"id": "1"}`: "", `{"id": null}`: "",
		`{"it": 1}`:           `body: it is no orders.v1.GetRequest, which method orders.v1.Orders/Get takes: (line 1:2): unknown field "it"`,
		`{"id": "one"}`:       `invalid value for int64 field id: "one"`,
		`{"id": 1`:            "unexpected EOF",
		`[1]`:                 "unexpected token [",
		`{"id": 1, "id": 2}`:  `duplicate field "id"`,
		`{"id": 1} {"id": 2}`: "unexpected token {",
		`hello`:               "invalid value hello",
	} {
		_, err := m.Encode(body)
		wants(t, err, want)
	}
}

// The JSON of an answer is the same on every machine, and has fields that are zero.
func TestAnswersAsJSON(t *testing.T) {
	m, err := unary.FromSet(loadtest.OrdersSet(t), get)
	if err != nil {
		t.Fatal(err)
	}
	text, err := m.Decode([]byte{8, 7, 18, 4, 'o', 'p', 'e', 'n'})
	if want := `{"id":"7","state":"open","openItems":"0"}`; err != nil || string(text) != want {
		t.Errorf("%s %v, want %s", text, err, want)
	}
	_, err = m.Decode([]byte{8})
	wants(t, err, "it is no orders.v1.Order: ")
	_, err = m.Decode([]byte{18, 1, 0xff})
	wants(t, err, "invalid UTF-8")
}

// Register functions of servers.
func both(s *grpc.Server, files *protoregistry.Files) {
	v1(s, files)
	alpha(s, files)
}

func v1(s *grpc.Server, files *protoregistry.Files) {
	grpc_reflection_v1.RegisterServerReflectionServer(s, reflection.NewServerV1(reflection.ServerOptions{Services: s, DescriptorResolver: files}))
}

// alpha is what older servers have.
func alpha(s *grpc.Server, files *protoregistry.Files) {
	grpc_reflection_v1alpha.RegisterServerReflectionServer(s, reflection.NewServer(reflection.ServerOptions{Services: s, DescriptorResolver: files}))
}

// lean answers with one file at a time, as some servers do, and leaves out those that it is told to.
type lean struct {
	grpc_reflection_v1.UnimplementedServerReflectionServer
	server *grpc.Server
	files  *protoregistry.Files
	lacks  string
	empty  bool // its answers have no file
}

func (l lean) ServerReflectionInfo(s grpc_reflection_v1.ServerReflection_ServerReflectionInfoServer) error {
	inner := reflection.NewServerV1(reflection.ServerOptions{Services: l.server, DescriptorResolver: l.files})
	return inner.ServerReflectionInfo(leanStream{s, l})
}

type leanStream struct {
	grpc_reflection_v1.ServerReflection_ServerReflectionInfoServer
	lean
}

func (l leanStream) Recv() (*grpc_reflection_v1.ServerReflectionRequest, error) {
	asked, err := l.ServerReflection_ServerReflectionInfoServer.Recv()
	if err == nil && l.lacks != "" && asked.GetFileByFilename() == l.lacks {
		asked.MessageRequest = &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: "nothing.proto"}
	}
	return asked, err
}

func (l leanStream) Send(answer *grpc_reflection_v1.ServerReflectionResponse) error {
	if files := answer.GetFileDescriptorResponse(); files != nil {
		files.FileDescriptorProto = files.FileDescriptorProto[:1]
		if l.empty {
			files.FileDescriptorProto = nil
		}
	}
	return l.ServerReflection_ServerReflectionInfoServer.Send(answer)
}

func TestMethodsThatAServerDescribes(t *testing.T) {
	leanly := func(lacks string, empty bool) func(*grpc.Server, *protoregistry.Files) {
		return func(s *grpc.Server, files *protoregistry.Files) {
			grpc_reflection_v1.RegisterServerReflectionServer(s, lean{server: s, files: files, lacks: lacks, empty: empty})
		}
	}
	healthy := func(s *grpc.Server, _ *protoregistry.Files) {
		grpc_health_v1.RegisterHealthServer(s, health.NewServer())
		reflection.Register(s)
	}
	for name, test := range map[string]struct {
		register   func(*grpc.Server, *protoregistry.Files)
		call, want string
	}{
		"both versions":              {both, get, ""},
		"the newer one":              {v1, get, ""},
		"the older one":              {alpha, get, ""},
		"neither":                    {nil, get, "the server has no reflection service, which would describe orders.v1.Orders/Get: register one (grpc.reflection.v1, or v1alpha), or name a file with descriptors"},
		"one file at a time":         {leanly("", false), get, ""},
		"no such method":             {both, "orders.v1.Orders/Put", "service orders.v1.Orders has no method Put: it has Get, Watch"},
		"no such service":            {both, "orders.v2.Orders/Get", "the server has no service orders.v2.Orders: it has orders.v1.Orders"},
		"a message as a service":     {both, "orders.v1.Order/Get", "the server has no service orders.v1.Order: it has orders.v1.Orders"},
		"no such service, older one": {alpha, "orders.v2.Orders/Get", "the server has no service orders.v2.Orders: it has orders.v1.Orders"},
		"a streaming method":         {v1, "orders.v1.Orders/Watch", "is streaming"},
		"no method":                  {v1, "Orders", "is no method"},
		"an import that is missing":  {leanly("google/protobuf/timestamp.proto", false), get, "has not google/protobuf/timestamp.proto, which orders.v1.Orders needs"},
		"an answer without a file":   {leanly("", true), get, "answered without a file"},
		"the health service":         {healthy, "grpc.health.v1.Health/Check", ""},
	} {
		t.Run(name, func(t *testing.T) {
			address := loadtest.ServeOrders(t, test.register)
			m, err := unary.Server{Address: address, Name: "orders.shop"}.Method(t.Context(), test.call)
			wants(t, err, test.want)
			if err == nil && m.String() != test.call {
				t.Errorf("method %s", m)
			}
		})
	}
}

// Servers that are none of gRPC.
func TestServersThatDescribeNothing(t *testing.T) {
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	defer plain.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
	for name, address := range map[string]string{"HTTP/1.1": plain.Listener.Addr().String(), "nobody": free.Addr().String()} {
		_, err := unary.Server{Address: address}.Method(t.Context(), get)
		wants(t, err, "ask the reflection service of the server at "+address+" for "+get)
		if err == nil {
			t.Error(name)
		}
	}
}
