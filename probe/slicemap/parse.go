package slicemap

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/plumbline-upf/plumbline/internal/yamltext"
	"github.com/plumbline-upf/plumbline/probe"
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

// file is the YAML form of a file.
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

// Load reads a file. Errors about its content wrap [ErrMap].
func Load(path string) (*Map, error) {
	text, err := yamltext.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("slice map: %w", err)
	}
	return read(path, text)
}

// Parse reads the text of a file. Errors wrap [ErrMap].
func Parse(text []byte) (*Map, error) { return read("", text) }

func read(name string, text []byte) (*Map, error) {
	var in file
	m := &Map{}
	err := yamltext.Reader{Of: ErrMap}.Parse(name, text, &in, func(c *yamltext.Checks) {
		if n := len(in.Slices); n == 0 || n > maxEntries {
			c.Note("slices", "%d slices: want 1 to %d", n, maxEntries)
			return
		}
		for i, e := range in.Slices {
			m.entries = append(m.entries, e.parse(c, fmt.Sprintf("slices[%d].", i)))
		}
		m.check(c)
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// check says what is wrong with the entries together.
func (m *Map) check(c *yamltext.Checks) {
	var teids uint64
	ues := 0
	first := map[string]probe.Slice{}
	for i, e := range m.entries {
		ues += len(e.ues)
		for _, r := range e.teids {
			teids += uint64(r.last-r.first) + 1
		}
		s := e.slice
		if other, ok := first[s.Name]; ok && other != s {
			c.Note(fmt.Sprintf("slices[%d].name", i), "two slices %q with different S-NSSAI or DNN", s.Name)
			continue
		}
		first[s.Name] = s
	}
	if teids > maxTEIDs || ues > maxUEs {
		c.Note("slices", "%d TEIDs, %d prefixes: want up to %d, %d", teids, ues, maxTEIDs, maxUEs)
	}
}

// parse checks one entry; what is wrong with it has keys that begin with at.
func (in *fileEntry) parse(c *yamltext.Checks, at string) entry {
	if in.Name == "" || in.Name == "-" || len(in.Name) > maxName {
		c.Note(at+"name", "name of %d octets: want 1 to %d, and not \"-\"", len(in.Name), maxName)
	}
	e := entry{upf: in.UPF, sst: in.SST, dnn: in.DNN, slice: probe.Slice{Name: in.Name, SD: NoSD, DNN: in.DNN}}
	if in.SST != nil {
		e.slice.SST = *in.SST
	}
	if in.SD != "" {
		sd, err := parseSD(in.SD)
		c.Want(err == nil && in.SST != nil, at+"sd", in.SD, "6 hexadecimal digits, with an sst")
		e.sd, e.slice.SD = &sd, sd
	}
	for i, q := range in.QFIs {
		yamltext.Within(c, fmt.Sprintf("%sqfis[%d]", at, i), q, 1, maxQFI)
		e.qfis |= 1 << q
	}
	for i, text := range in.TEIDs {
		r, ok := parseTEIDs(text)
		c.Want(ok, fmt.Sprintf("%steids[%d]", at, i), text, "a number from 1 on, or two with \"-\" between")
		e.teids = append(e.teids, r)
	}
	for i, p := range in.UEs {
		// An IPv6 UE has a /64, so longer prefixes are not distinguished.
		c.Want(p.IsValid() && !p.Addr().Is4In6() && (p.Addr().Is4() || p.Bits() <= 64), fmt.Sprintf("%sues[%d]", at, i), p,
			"an IPv4 prefix, or an IPv6 one of up to 64 bits")
		e.ues = append(e.ues, p.Masked())
	}
	if !e.ofSessions() && len(e.teids)+len(e.ues) == 0 {
		c.Note(strings.TrimSuffix(at, "."), "nothing says what belongs to it: want sst, dnn, qfis, teids or ues")
	}
	return e
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
func parseTEIDs(text string) (r teidRange, ok bool) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	first, err1 := strconv.ParseUint(strings.TrimSpace(low), 0, 32)
	last, err2 := strconv.ParseUint(strings.TrimSpace(high), 0, 32)
	if err1 != nil || err2 != nil || first == 0 || first > last {
		return r, false
	}
	return teidRange{uint32(first), uint32(last)}, true
}
