package slicemap

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"plumbline/probe"
	"plumbline/yamltext"
)

// ErrMap is wrapped by every error about what a file says.
var ErrMap = errors.New("slice map")

// What a file may have.
const (
	maxEntries = 256
	maxName    = 64    // octets of a name
	maxTEIDs   = 65536 // in all
	maxUEs     = 4096  // prefixes in all
	maxQFI     = 63    // Source: TS 38.415 V18.0.0, 5.5.3.3.
)

// file is a file as YAML has it.
type file struct {
	Slices []fileEntry `yaml:"slices"`
}

type fileEntry struct {
	Name  string         `yaml:"name"`
	UPF   string         `yaml:"upf"`
	SST   *uint8         `yaml:"sst"`
	SD    string         `yaml:"sd"`
	DNN   string         `yaml:"dnn"`
	QFIs  []uint8        `yaml:"qfis"`
	TEIDs []string       `yaml:"teids"`
	UEs   []netip.Prefix `yaml:"ues"`
}

// Load reads a file. Errors about what it says wrap [ErrMap].
func Load(path string) (*Map, error) {
	text, err := yamltext.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("slice map: %w", err)
	}
	m, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// Parse reads the text of a file. Errors wrap [ErrMap].
func Parse(text []byte) (*Map, error) {
	var in file
	if err := yamltext.Decode(text, &in); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMap, err)
	}
	if n := len(in.Slices); n == 0 || n > maxEntries {
		return nil, fmt.Errorf("%w: %d slices: want 1 to %d", ErrMap, n, maxEntries)
	}
	m := &Map{}
	for i, e := range in.Slices {
		parsed, err := e.parse()
		if err != nil {
			return nil, fmt.Errorf("%w: slice %d, %q: %w", ErrMap, i+1, e.Name, err)
		}
		m.entries = append(m.entries, parsed)
	}
	return m, m.check()
}

// check says what is wrong with the entries together.
func (m *Map) check() error {
	var teids uint64
	ues := 0
	first := map[string]probe.Slice{}
	for _, e := range m.entries {
		ues += len(e.ues)
		for _, r := range e.teids {
			teids += uint64(r.last-r.first) + 1
		}
		s := e.slice
		if other, ok := first[s.Name]; ok && other != s {
			return fmt.Errorf("%w: two slices %q with different S-NSSAI or DNN", ErrMap, s.Name)
		}
		first[s.Name] = s
	}
	if teids > maxTEIDs || ues > maxUEs {
		return fmt.Errorf("%w: %d TEIDs, %d prefixes: want up to %d, %d", ErrMap, teids, ues, maxTEIDs, maxUEs)
	}
	return nil
}

// parse checks one entry.
func (in *fileEntry) parse() (e entry, err error) {
	if in.Name == "" || in.Name == "-" || len(in.Name) > maxName {
		return e, fmt.Errorf("name of %d octets: want 1 to %d, and not \"-\"", len(in.Name), maxName)
	}
	e = entry{upf: in.UPF, sst: in.SST, dnn: in.DNN, slice: probe.Slice{Name: in.Name, SD: NoSD, DNN: in.DNN}}
	if in.SST != nil {
		e.slice.SST = *in.SST
	}
	if in.SD != "" {
		sd, err := parseSD(in.SD)
		if err != nil || in.SST == nil {
			return e, fmt.Errorf("sd %q: want 6 hexadecimal digits, with an sst", in.SD)
		}
		e.sd, e.slice.SD = &sd, sd
	}
	for _, q := range in.QFIs {
		if q == 0 || q > maxQFI {
			return e, fmt.Errorf("qfi %d: want 1 to %d", q, maxQFI)
		}
		e.qfis |= 1 << q
	}
	for _, text := range in.TEIDs {
		r, err := parseTEIDs(text)
		if err != nil {
			return e, err
		}
		e.teids = append(e.teids, r)
	}
	if e.ues, err = parseUEs(in.UEs); err != nil {
		return e, err
	}
	if !e.ofSessions() && len(e.teids)+len(e.ues) == 0 {
		return e, errors.New("nothing says what belongs to it: want sst, dnn, qfis, teids or ues")
	}
	return e, nil
}

// parseSD reads 6 hexadecimal digits.
func parseSD(text string) (uint32, error) {
	if len(text) != 6 {
		return 0, strconv.ErrSyntax
	}
	sd, err := strconv.ParseUint(text, 16, 24)
	return uint32(sd), err
}

// parseTEIDs reads "77", "0x4d" or "0x3000-0x3fff".
func parseTEIDs(text string) (r teidRange, err error) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	first, err1 := strconv.ParseUint(strings.TrimSpace(low), 0, 32)
	last, err2 := strconv.ParseUint(strings.TrimSpace(high), 0, 32)
	if err1 != nil || err2 != nil || first == 0 || first > last {
		return r, fmt.Errorf("teids %q: want a number from 1 on, or two with \"-\" between", text)
	}
	return teidRange{uint32(first), uint32(last)}, nil
}

// parseUEs masks prefixes. An IPv6 UE has a /64, so nothing longer is told apart.
func parseUEs(in []netip.Prefix) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for _, p := range in {
		if !p.IsValid() || p.Addr().Is4In6() || p.Addr().Is6() && p.Bits() > 64 {
			return nil, fmt.Errorf("ues %v: want an IPv4 prefix, or an IPv6 one of up to 64 bits", p)
		}
		list = append(list, p.Masked())
	}
	return list, nil
}
