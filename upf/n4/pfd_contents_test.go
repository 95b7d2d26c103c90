package n4

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// pfdFields is an Additional part of a PFD Contents.
func pfdFields(fields ...string) (b []byte) {
	for _, f := range fields {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(f))), f...)
	}
	return b
}

// TestPFDContents: what each kind of PFD Contents means, and what is refused.
func TestPFDContents(t *testing.T) {
	const web = "permit out 6 from any 443 to assigned"
	name := func(d, protocol string) pfcp.PFDContents {
		p := pfcp.PFDContents{DomainName: []byte(d)}
		if protocol != "" {
			p.DomainNameProtocol = []byte(protocol)
		}
		return p
	}
	url := func(u string) pfcp.PFDContents { return pfcp.PFDContents{URL: []byte(u)} }
	for _, tc := range []struct {
		name string
		in   pfcp.PFDContents
		want []flow // nil: refused
	}{
		{"Flow Descriptions", pfcp.PFDContents{FlowDescription: []byte(web), AdditionalFlowDescription: pfdFields("permit out ip from any to assigned")},
			[]flow{{description: web}, {description: "permit out ip from any to assigned"}}},
		{"name", name("WWW.Example.org.", ""), []flow{{host: "www.example.org"}}},
		{"name of TLS", name("example.org", "TLS_SNI"), []flow{{host: "example.org"}}},
		{"name of DNS", name("example.org", "DNS_QNAME"), nil},
		{"all names below", name("*.example.org", ""), []flow{{host: "*.example.org"}}},
		{"expression for all names below", name(`^.*\.example\.org$`, ""), []flow{{host: "*.example.org"}}},
		{"expression for these and the name", name(`(.*\.)?example\.org`, ""), []flow{{host: "example.org"}, {host: "*.example.org"}}},
		{"expression for more", name(`.*example\.org`, ""), nil},
		{"expression with a choice", name(`(a|b)\.example\.org`, ""), nil},
		{"expression that is everything", name(`.*`, ""), nil},
		{"no name", name("", ""), nil},
		{"empty label", name("a..b", ""), nil},
		{"further names and protocols", pfcp.PFDContents{DomainName: []byte("a.example"), AdditionalDomainName: pfdFields("b.example", "TLS_SNI", "c.example", "")},
			[]flow{{host: "a.example"}, {host: "b.example"}, {host: "c.example"}}},
		{"URL", url("http://example.org/"), []flow{{host: "example.org"}}},
		{"URL with a path", url("https://www.example.org/video/*"), []flow{{host: "www.example.org", path: "/video/"}}},
		{"URL with a port", url("http://example.org:8080/a?b=c"), []flow{{description: "permit out ip from any 8080 to assigned", host: "example.org", path: "/a?b=c"}}},
		{"URL without a scheme", url("example.org/x"), []flow{{host: "example.org", path: "/x"}}},
		{"URL of all hosts below", url("http://*.example.org/x"), []flow{{host: "*.example.org", path: "/x"}}},
		{"URL with an expression", url(`http://example.org/[a-z]+`), nil},
		{"URL without a host", url("file:///etc"), nil},
		{"further URLs", pfcp.PFDContents{URL: []byte("http://a.example"), AdditionalURL: pfdFields("http://b.example")}, []flow{{host: "a.example"}, {host: "b.example"}}},
		{"flow and name", pfcp.PFDContents{FlowDescription: []byte(web), DomainName: []byte("a.example"), AdditionalURL: pfdFields("http://b.example/x")},
			[]flow{{description: web, host: "b.example", path: "/x"}, {description: web, host: "a.example"}}},
		{"Custom PFD Content", pfcp.PFDContents{FlowDescription: []byte(web), CustomPFDContent: []byte("x")}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := pfdContents(nil, &tc.in)
			if (err != nil) != (tc.want == nil) {
				t.Fatalf("got %v, %v; want %v", got, err, tc.want)
			}
			if d := cmp.Diff(tc.want, got, cmp.AllowUnexported(flow{})); tc.want != nil && d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if _, err := filters(got); err != nil {
				t.Error(err)
			}
			for _, f := range got {
				if again, ok := readFlow(f.String()); !ok || again != f {
					t.Errorf("%+v is %+v in a record", f, again)
				}
			}
		})
	}
}

// FuzzPFDContents: a name or URL that is accepted is one that a datapath can look for,
// and is the same in a record.
func FuzzPFDContents(f *testing.F) {
	for _, s := range []string{"example.org", `^.*\.example\.org$`, "http://example.org:80/a*", "*.*", "::", "a:b:c/", "\x00"} {
		f.Add([]byte(s), []byte(s))
	}
	f.Fuzz(func(t *testing.T, url, name []byte) {
		flows, err := pfdContents(nil, &pfcp.PFDContents{URL: url, DomainName: name})
		if err != nil {
			return
		}
		for _, f := range flows {
			bare, _ := strings.CutPrefix(f.host, "*.")
			if f.host == "" && url != nil || f.host != "" && !isHost(bare) || len(f.host) > maxHost || len(f.path) > maxPath {
				t.Errorf("%q, %q: %+v", url, name, f)
			}
			if again, ok := readFlow(f.String()); !ok || again != f {
				t.Errorf("%+v is %+v in a record", f, again)
			}
		}
	})
}
