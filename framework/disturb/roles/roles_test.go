package roles_test

import (
	"bytes"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/disturb/catalogue"
	"github.com/holdfast-ha/holdfast/framework/disturb/roles"
)

func TestX(t *testing.T) {
	f, _ := catalogue.Named([]string{"rollout", "drain"})
	o, err := roles.Request{Faults: f, Namespace: "shop", Neighbours: []string{"mon"}, Home: "holdfast"}.Objects()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	roles.Write(&b, o)
	t.Log(b.String())
}
