package compiled_test

import (
	"regexp"
	"testing"

	info "github.com/p4lang/p4runtime/go/p4/config/v1"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/plumbline-upf/plumbline/p4/bmv2"
	"github.com/plumbline-upf/plumbline/p4/compiled"
	"github.com/plumbline-upf/plumbline/p4/p4rt"
)

// TestV1Model: the switch takes the program, and P4Info is of it.
func TestV1Model(t *testing.T) {
	json, text := compiled.V1Model()
	program, err := bmv2.Load(json)
	if err != nil {
		t.Fatal(err)
	}
	var p info.P4Info
	if err := prototext.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	if got, want := p.GetPkgInfo().GetArch(), "v1model"; got != want {
		t.Errorf("architecture %q, want %q", got, want)
	}
	if len(p.GetTables()) == 0 {
		t.Error("no tables in P4Info")
	}
	if err := p4rt.Check(&p, program); err != nil {
		t.Error(err)
	}
}

// TestNoPlaces: nothing says on which machine the compiler ran, nor where things stand in the sources.
func TestNoPlaces(t *testing.T) {
	json, text := compiled.V1Model()
	place := regexp.MustCompile(`source_info|source_fragment|"/[^"]*"`)
	for name, b := range map[string][]byte{"JSON": json, "P4Info": text} {
		if found := place.Find(b); found != nil {
			t.Errorf("%s has %s", name, found)
		}
	}
}

// TestV1ModelIsTheCallers: who changes what he was given changes nothing for others.
func TestV1ModelIsTheCallers(t *testing.T) {
	json, text := compiled.V1Model()
	json[0], text[0] = 'x', 'x'
	if json, text := compiled.V1Model(); json[0] == 'x' || text[0] == 'x' {
		t.Error("the octets of another caller are changed")
	}
}
