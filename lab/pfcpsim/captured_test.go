package pfcpsim

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/pfcp/pfcptest"
)

// TestOAIAsCaptured: the requests of the dialect are those that OAI's SMF sent, but for
// addresses and times of its own.
func TestOAIAsCaptured(t *testing.T) {
	s, err := Dialect("oai")
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t)
	b.run(t, s)
	said := func(m Message) string {
		return Text(slices.DeleteFunc(slices.Clone(m.IEs), func(n Node) bool {
			return slices.Contains([]pfcp.IEType{pfcp.IENodeID, pfcp.IEFSEID, pfcp.IERecoveryTimeStamp}, n.Type)
		}))
	}
	var sent []string
	for _, m := range b.trace {
		if m.Sent && m.Header.Type.IsRequest() {
			sent = append(sent, said(m))
		}
	}
	for i, name := range []string{
		"association", "establishment", "tunnel", "idle", "resume", "resume-tunnel", "path-switch", "deletion",
		"usage-establishment", "usage-tunnel",
	} {
		want, err := NewMessage(pfcptest.Get(t, "oai-2.1.0-"+name).Octets, true)
		if err != nil {
			t.Fatal(err)
		}
		if i >= len(sent) {
			t.Fatalf("%d requests, the next would be %s", i, name)
		}
		if diff := cmp.Diff(said(want), sent[i]); diff != "" {
			t.Errorf("%s: -captured +dialect\n%s", name, diff)
		}
	}
}
