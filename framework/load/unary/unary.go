// Package unary makes the message of a gRPC call from JSON, and JSON of its answer, for methods that are known only by descriptors: those
// of a server's reflection service, or of a file that protoc wrote.
//
// It asks the reflection service, and sends nothing else.
package unary

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// maxSetBytes bounds the descriptors of a method: a plan carries them to the load workers.
const maxSetBytes = 256 << 10

// Method is a method that takes one message and answers with one.
type Method struct {
	method protoreflect.MethodDescriptor
	types  *dynamicpb.Types
}

// Split reads the name of a method, such as orders.v1.Orders/Get.
func Split(name string) (service, method string, err error) {
	service, method, _ = strings.Cut(name, "/")
	if !protoreflect.FullName(service).IsValid() || !protoreflect.Name(method).IsValid() {
		return "", "", fmt.Errorf("%q is no method: want PACKAGE.SERVICE/METHOD, such as orders.v1.Orders/Get", name)
	}
	return service, method, nil
}

// FromSet finds a method in a descriptor set, as `protoc --descriptor_set_out --include_imports` writes it.
func FromSet(set []byte, name string) (*Method, error) {
	var described descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &described); err != nil {
		return nil, errors.New("it is no descriptor set: make one with 'protoc --descriptor_set_out --include_imports'")
	}
	files, err := protodesc.NewFiles(&described)
	if err != nil {
		return nil, fmt.Errorf("the descriptor set is not complete: make it with 'protoc --descriptor_set_out --include_imports': %s", plain(err))
	}
	return find(files, name, "the descriptor set", servicesOf(files))
}

// find finds a method. If there is none, the error says what there is: services are those of whoever described the files.
func find(files *protoregistry.Files, name, who string, services []string) (*Method, error) {
	service, method, err := Split(name)
	if err != nil {
		return nil, err
	}
	found, err := files.FindDescriptorByName(protoreflect.FullName(service))
	described, is := found.(protoreflect.ServiceDescriptor)
	if err != nil || !is {
		return nil, fmt.Errorf("%s has no service %s: it has %s", who, service, list(services))
	}
	m := described.Methods().ByName(protoreflect.Name(method))
	switch {
	case m == nil:
		return nil, fmt.Errorf("service %s has no method %s: it has %s", service, method, list(methodsOf(described)))
	case m.IsStreamingClient() || m.IsStreamingServer():
		return nil, fmt.Errorf("method %s is streaming: a probe calls methods with one message and one answer. Service %s has %s", name, service, list(unary(described)))
	}
	return &Method{m, dynamicpb.NewTypes(files)}, nil
}

// Set are the descriptors that the method needs, and no others.
func (m *Method) Set() ([]byte, error) {
	var set descriptorpb.FileDescriptorSet
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		one := protodesc.ToFileDescriptorProto(f)
		one.SourceCodeInfo = nil // comments
		set.File = append(set.File, one)
	}
	add(m.method.ParentFile())
	made, err := proto.Marshal(&set)
	if err == nil && len(made) > maxSetBytes {
		err = fmt.Errorf("the descriptors that method %s needs have %d bytes, more than %d: leave descriptors out, if the server has a reflection service",
			m, len(made), maxSetBytes)
	}
	return made, err
}

// String names the method: orders.v1.Orders/Get.
func (m *Method) String() string {
	return string(m.method.Parent().FullName()) + "/" + string(m.method.Name())
}

// Encode makes the method's message of JSON; an empty text is an empty message.
func (m *Method) Encode(text string) ([]byte, error) {
	message := dynamicpb.NewMessage(m.method.Input())
	if text != "" {
		if err := (protojson.UnmarshalOptions{Resolver: m.types}).Unmarshal([]byte(text), message); err != nil {
			return nil, fmt.Errorf("body: it is no %s, which method %s takes: %s", m.method.Input().FullName(), m, plain(err))
		}
	}
	return proto.Marshal(message)
}

// Decode makes JSON of an answer, without spaces. Fields that are not set have their zero values.
func (m *Method) Decode(answer []byte) ([]byte, error) {
	message := dynamicpb.NewMessage(m.method.Output())
	if err := (proto.UnmarshalOptions{Resolver: m.types}).Unmarshal(answer, message); err != nil {
		return nil, fmt.Errorf("it is no %s: %s", m.method.Output().FullName(), plain(err))
	}
	text, err := protojson.MarshalOptions{Resolver: m.types, EmitDefaultValues: true}.Marshal(message)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON: %s", plain(err))
	}
	var compact bytes.Buffer // package protojson puts spaces at random places, so that nobody relies on them
	err = json.Compact(&compact, text)
	return compact.Bytes(), err
}

// plain is the text of an error of protobuf's packages, which has spaces of different kinds at random.
func plain(err error) string {
	spaces := func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		return r
	}
	return strings.TrimSpace(strings.TrimPrefix(strings.Map(spaces, err.Error()), "proto:"))
}

// mostNames is how many names an error lists.
const mostNames = 10

func list(names []string) string {
	slices.Sort(names)
	switch {
	case len(names) == 0:
		return "none"
	case len(names) > mostNames:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostNames], ", "), len(names)-mostNames)
	}
	return strings.Join(names, ", ")
}

func servicesOf(files *protoregistry.Files) (names []string) {
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			names = append(names, string(f.Services().Get(i).FullName()))
		}
		return true
	})
	return names
}

func methodsOf(s protoreflect.ServiceDescriptor) (names []string) {
	for i := range s.Methods().Len() {
		names = append(names, string(s.Methods().Get(i).Name()))
	}
	return names
}

// unary are the methods of a service that a probe can call.
func unary(s protoreflect.ServiceDescriptor) []string {
	return slices.DeleteFunc(methodsOf(s), func(name string) bool {
		m := s.Methods().ByName(protoreflect.Name(name))
		return m.IsStreamingClient() || m.IsStreamingServer()
	})
}
