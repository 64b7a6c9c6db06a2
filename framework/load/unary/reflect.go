package unary

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
)

// askLimit bounds all questions about one method. The harness waits for a worker's answer for longer.
const askLimit = 10 * time.Second

// Server is a gRPC server that describes its methods.
type Server struct {
	Address  string            // host:port
	Name     string            // by which it is called; empty: the address
	Metadata map[string]string // of each call
	TLS      *tls.Config       // nil: without TLS
}

// streams are the reflection service's method in its two versions, whose messages are the same.
var streams = []string{
	reflection.ServerReflection_ServerReflectionInfo_FullMethodName,
	"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
}

// Method asks the server's reflection service for a method.
func (s Server) Method(ctx context.Context, name string) (*Method, error) {
	service, _, err := Split(name)
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(s.credentials()), grpc.WithNoProxy(), grpc.WithDisableServiceConfig()}
	if s.Name != "" {
		options = append(options, grpc.WithAuthority(s.Name))
	}
	c, err := grpc.NewClient("passthrough:///"+s.Address, options...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close() }() // all answers are there
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(ctx, metadata.New(s.Metadata)), askLimit)
	defer cancel()
	for _, stream := range streams {
		var made *Method
		made, err = describe(ctx, c, stream, service, name)
		if status.Code(err) != codes.Unimplemented {
			if _, is := status.FromError(err); err != nil && is {
				err = fmt.Errorf("ask the reflection service of the server at %s for %s: %w", s.Address, name, err)
			}
			return made, err
		}
	}
	return nil, fmt.Errorf("the server has no reflection service, which would describe %s: register one (grpc.reflection.v1, or v1alpha), "+
		"or name a file with descriptors", name)
}

func (s Server) credentials() credentials.TransportCredentials {
	if s.TLS == nil {
		return insecure.NewCredentials()
	}
	c := s.TLS.Clone()
	c.ServerName = "" // gRPC takes it from its authority, which is the Name with its port
	return credentials.NewTLS(c)
}

// describe asks one version of the reflection service.
func describe(ctx context.Context, c *grpc.ClientConn, stream, service, name string) (*Method, error) {
	opened, err := c.NewStream(ctx, &reflection.ServerReflection_ServiceDesc.Streams[0], stream)
	if err != nil {
		return nil, err
	}
	q := questions{opened}
	defer func() { _ = opened.CloseSend() }() // there is no further question
	services, err := q.services()
	if err != nil {
		return nil, err
	}
	set, err := q.files(service)
	if _, unknown := errors.AsType[*noAnswer](err); unknown {
		return nil, fmt.Errorf("the server has no service %s: it has %s", service, list(services))
	}
	if err != nil {
		return nil, err
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("what the server's reflection service says of %s is not complete: %s", service, plain(err))
	}
	return find(files, name, "the server", services)
}

// questions are asked one after the other, on a stream of the reflection service.
type questions struct{ grpc.ClientStream }

// noAnswer is what the service says of a thing that it does not know.
type noAnswer struct{ text string }

func (n *noAnswer) Error() string { return n.text }

func (q questions) ask(asked *reflection.ServerReflectionRequest) (*reflection.ServerReflectionResponse, error) {
	if err := q.SendMsg(asked); err != nil && !errors.Is(err, io.EOF) { // which is explained by what is received
		return nil, err
	}
	var answer reflection.ServerReflectionResponse
	if err := q.RecvMsg(&answer); err != nil {
		return nil, err
	}
	if no := answer.GetErrorResponse(); no != nil {
		return nil, &noAnswer{no.ErrorMessage}
	}
	return &answer, nil
}

// services are the names of the server's services, without that which is asked.
func (q questions) services() (names []string, err error) {
	answer, err := q.ask(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_ListServices{}})
	if err != nil {
		return nil, err
	}
	for _, s := range answer.GetListServicesResponse().GetService() {
		if !strings.HasPrefix(s.Name, "grpc.reflection.") {
			names = append(names, s.Name)
		}
	}
	return names, nil
}

// files are the file that has a service, and all that it imports. A server may send them at once, or one by one.
func (q questions) files(service string) (*descriptorpb.FileDescriptorSet, error) {
	var set descriptorpb.FileDescriptorSet
	known := map[string]bool{}
	next := &reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: service}}
	for next != nil {
		answer, err := q.ask(next)
		if err != nil && len(set.File) > 0 {
			return nil, fmt.Errorf("the server's reflection service has not %s, which %s needs: %s", next.GetFileByFilename(), service, err.Error())
		}
		if err != nil {
			return nil, err
		}
		news := false
		for _, packed := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
			var one descriptorpb.FileDescriptorProto
			if err := proto.Unmarshal(packed, &one); err != nil {
				return nil, fmt.Errorf("the server's reflection service sent no descriptor: %s", plain(err))
			}
			if !known[one.GetName()] {
				known[one.GetName()], news = true, true
				set.File = append(set.File, &one)
			}
		}
		if !news {
			return nil, fmt.Errorf("the server's reflection service answered without a file that %s needs", service)
		}
		next = missing(&set, known)
	}
	return &set, nil
}

// missing asks for a file that others import; nil: none is missing.
func missing(set *descriptorpb.FileDescriptorSet, known map[string]bool) *reflection.ServerReflectionRequest {
	for _, one := range set.File {
		for _, path := range one.Dependency {
			if !known[path] {
				return &reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: path}}
			}
		}
	}
	return nil
}
