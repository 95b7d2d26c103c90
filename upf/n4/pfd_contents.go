package n4

import (
	"errors"
	"fmt"
	"strings"

	"github.com/plumbline-upf/plumbline/pfcp"
	"github.com/plumbline-upf/plumbline/upf/session"
)

// flow is one way in which a packet is of an application: its flow has to be as
// the Flow Description says and to have the name, as far as these are there.
type flow struct {
	description string // an IPFilterRule; empty: any packet
	host, path  string // as [session.SDFFilter] has them
}

// maxHost is the longest name: RFC 1035, 2.3.4. maxPath is the longest path.
const maxHost, maxPath = 253, 1024

// Errors of PFD Contents.
var (
	errPFDKind = errors.New("Custom PFD Content, or a Domain Name Protocol other than TLS_SNI")
	errPFDName = errors.New("neither a name nor one of the regular expressions for all names below one")
	errPFDURL  = errors.New("not a URL by which a host can be told")
)

// pfdContents lists the flows of one PFD Contents. Of Flow Descriptions any one has
// to match, and of URLs and Domain Names any one; of a PFD that has both, both do.
// Source: TS 29.244 V18.6.0, 8.2.39.
func pfdContents(list []flow, p *pfcp.PFDContents) ([]flow, error) {
	if p.CustomPFDContent != nil {
		return nil, errPFDKind
	}
	var descriptions []string
	if p.FlowDescription != nil {
		descriptions = append(descriptions, string(p.FlowDescription))
	}
	for f := range pfcp.PFDList(p.AdditionalFlowDescription) {
		descriptions = append(descriptions, string(f))
	}
	names, err := pfdNames(p)
	switch {
	case err != nil:
		return nil, err
	case len(names) == 0:
		names = []flow{{}}
	case len(descriptions) == 0:
		return append(list, names...), nil
	}
	for _, d := range descriptions {
		if d == "" {
			return nil, fmt.Errorf("an empty Flow Description: %w", session.ErrIncomplete)
		}
		for _, n := range names {
			if n.description != "" {
				return nil, fmt.Errorf("a port in the URL beside a Flow Description: %w", errPFDURL)
			}
			n.description = d
			list = append(list, n)
		}
		if len(list) > maxFlows {
			return nil, errPFDCount
		}
	}
	return list, nil
}

// pfdNames lists the URLs and Domain Names.
func pfdNames(p *pfcp.PFDContents) (names []flow, err error) {
	var urls, domains [][]byte
	if p.URL != nil {
		urls = append(urls, p.URL)
	}
	for u := range pfcp.PFDList(p.AdditionalURL) {
		urls = append(urls, u)
	}
	if p.DomainName != nil {
		domains = append(domains, p.DomainName, p.DomainNameProtocol)
	}
	for d := range pfcp.PFDList(p.AdditionalDomainName) {
		domains = append(domains, d)
	}
	for _, u := range urls {
		f, err := pfdURL(string(u))
		if err != nil {
			return nil, err
		}
		names = append(names, f)
	}
	for i := 0; i < len(domains); i += 2 {
		if i+1 < len(domains) && !shown(string(domains[i+1])) {
			return nil, errPFDKind
		}
		hosts, err := pfdHosts(string(domains[i]))
		if err != nil {
			return nil, err
		}
		for _, h := range hosts {
			names = append(names, flow{host: h})
		}
	}
	return names, nil
}

// shown reports whether packets of a flow show the name by this Domain Name
// Protocol: without one, as TLS, QUIC or HTTP does. DNS queries are flows of their own, and
// certificates are encrypted. Source: TS 29.244 V18.6.0, 8.2.39.
func shown(protocol string) bool { return protocol == "" || protocol == "TLS_SNI" || protocol == "1" }

// pfdHosts is what a Domain Name stands for: a name, or a regular expression for all
// names below one, which has these forms:
//
//	*.example.org  .*\.example\.org  ^.*\.example\.org$   all names below
//	(.*\.)?example\.org                                   these, and the name itself
//
// Other expressions would have to be tried on every name and are refused.
func pfdHosts(text string) ([]string, error) {
	name := strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(text, "^"), "$"))
	below, too := false, false
	for _, form := range [...]struct {
		prefix string
		too    bool
	}{{`(.*\.)?`, true}, {`(.*.)?`, true}, {`.*\.`, false}, {`.*.`, false}, {`*.`, false}} {
		if rest, ok := strings.CutPrefix(name, form.prefix); ok {
			name, below, too = rest, true, form.too
			break
		}
	}
	name = strings.TrimSuffix(strings.ReplaceAll(name, `\.`, "."), ".")
	if !isHost(name) {
		return nil, fmt.Errorf("Domain Name %.80q: %w", text, errPFDName)
	}
	switch {
	case too:
		return []string{name, "*." + name}, nil
	case below:
		return []string{"*." + name}, nil
	}
	return []string{name}, nil
}

// isHost reports whether a name is made of letters, digits, hyphens and underscores
// between single dots.
func isHost(name string) bool {
	if len(name) == 0 || len(name) > maxHost-2 || name[0] == '.' || strings.Contains(name, "..") {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
	})
}

// pfdURL is what a URL stands for: its host, its port if there is one, and how the
// path begins. A path is seen in HTTP alone, not in TLS.
func pfdURL(text string) (f flow, err error) {
	rest := strings.TrimSuffix(strings.TrimPrefix(text, "^"), "$")
	if _, after, ok := strings.Cut(rest, "://"); ok {
		rest = after
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	host, port, hasPort := strings.Cut(host, ":")
	hosts, err := pfdHosts(host)
	if err != nil || len(hosts) > 1 {
		return f, fmt.Errorf("URL %.80q: %w", text, errPFDURL)
	}
	path = strings.TrimSuffix(strings.TrimSuffix(path, "*"), ".")
	if path == "/" {
		path = ""
	}
	odd := func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`\^|(){}[]*+`, c) }
	if strings.ContainsFunc(path, odd) || len(path) > maxPath {
		return f, fmt.Errorf("path of URL %.80q: %w", text, errPFDURL)
	}
	f = flow{host: hosts[0], path: path}
	if hasPort {
		f.description = "permit out ip from any " + port + " to assigned"
	}
	return f, nil
}

// filters are flows in the words of package session.
func filters(flows []flow) ([]session.SDFFilter, error) {
	list := make([]session.SDFFilter, len(flows))
	for i, f := range flows {
		if f.description != "" {
			if err := session.ParseFlow([]byte(f.description), &list[i]); err != nil {
				return nil, err
			}
		}
		list[i].Host, list[i].Path = f.host, f.path
	}
	return list, nil
}

// String is the flow in a record: the description, and with a name that and the path
// behind octets of 0, of which the others have none.
func (f flow) String() string {
	if f.host == "" {
		return f.description
	}
	return f.description + "\x00" + f.host + "\x00" + f.path
}

// readFlow is the inverse of [flow.String]; false for a text that no flow is
// written as.
func readFlow(text string) (f flow, ok bool) {
	description, name, _ := strings.Cut(text, "\x00")
	host, path, _ := strings.Cut(name, "\x00")
	f = flow{description, host, path}
	return f, f.String() == text
}
