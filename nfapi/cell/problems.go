package cell

import (
	"fmt"
	"strings"

	"github.com/plumbline-upf/plumbline/nfapi"
)

// Problems are the errors of a CONFIG.request: the four lists of its response. In this PNF two are
// always empty: all TLVs are accepted in IDLE and in CONFIGURED, and none in RUNNING.
type Problems struct {
	Invalid        []nfapi.TLV // unknown, of the wrong length, or with a value that cannot be
	InvalidIdle    []nfapi.TLV // only allowed in IDLE
	InvalidRunning []nfapi.TLV // only allowed in RUNNING
	Missing        []nfapi.TLV // without value

	reasons []string
}

// maxListed is how many TLVs a list of CONFIG.response can count.
const maxListed = 255

// None reports whether there are none.
func (p *Problems) None() bool {
	return len(p.Invalid)+len(p.InvalidIdle)+len(p.InvalidRunning)+len(p.Missing) == 0
}

// Err is nil if there are none, else an error that names the TLVs and says what is wrong
// with them, as far as that is known.
func (p *Problems) Err() error {
	if p.None() {
		return nil
	}
	var parts []string
	parts = append(parts, p.reasons...)
	if len(p.reasons) == 0 {
		parts = named(parts, "invalid", p.Invalid)
	}
	parts = named(parts, "allowed in idle only", p.InvalidIdle)
	parts = named(parts, "allowed in running only", p.InvalidRunning)
	parts = named(parts, "missing", p.Missing)
	return fmt.Errorf("cell: %s", strings.Join(parts, "; "))
}

// maxNamed is how many TLVs of a list an error names.
const maxNamed = 8

func named(parts []string, what string, list []nfapi.TLV) []string {
	if len(list) == 0 {
		return parts
	}
	var names []string
	for _, t := range list[:min(len(list), maxNamed)] {
		names = append(names, tagName(t.Tag))
	}
	if len(list) > maxNamed {
		names = append(names, fmt.Sprintf("and %d more", len(list)-maxNamed))
	}
	return append(parts, what+": "+strings.Join(names, ", "))
}

func tagName(tag uint16) string {
	if name := nfapi.TagName(tag); name != "" {
		return fmt.Sprintf("%04x %s", tag, name)
	}
	return fmt.Sprintf("%04x", tag)
}

// invalid lists a TLV and why.
func (p *Problems) invalid(t *nfapi.TLV, why string, args ...any) {
	if len(p.Invalid) == maxListed {
		return
	}
	p.Invalid = append(p.Invalid, nfapi.TLV{Tag: t.Tag, Value: t.Value})
	if len(p.reasons) < maxNamed {
		p.reasons = append(p.reasons, tagName(t.Tag)+": "+fmt.Sprintf(why, args...))
	}
}

func (p *Problems) missing(tag uint16) {
	p.Missing = append(p.Missing, nfapi.TLV{Tag: tag})
}

// Response is the CONFIG.response: error code 0 if there are no problems, else 2,
// INVALID_CONFIG. It shares the octets of the request.
func (p *Problems) Response() *nfapi.ConfigResponse {
	m := &nfapi.ConfigResponse{}
	if !p.None() {
		m.ErrorCode = invalidConfig
	}
	for _, list := range []struct {
		tlvs  []nfapi.TLV
		count *uint8
	}{{p.Invalid, &m.NumInvalid}, {p.InvalidIdle, &m.NumInvalidIdle}, {p.InvalidRunning, &m.NumInvalidRunning}, {p.Missing, &m.NumMissing}} {
		some := list.tlvs[:min(len(list.tlvs), maxListed)]
		*list.count = uint8(len(some))
		m.TLVs = append(m.TLVs, some...)
	}
	return m
}

// invalidConfig is the error code. Source: SCF 222.10.02, table 3-31.
const invalidConfig = 2

// ProblemsOf are those that a PNF tells of.
func ProblemsOf(m *nfapi.ConfigResponse) Problems {
	var p Problems
	rest := m.TLVs
	for _, list := range []struct {
		tlvs  *[]nfapi.TLV
		count uint8
	}{{&p.Invalid, m.NumInvalid}, {&p.InvalidIdle, m.NumInvalidIdle}, {&p.InvalidRunning, m.NumInvalidRunning}, {&p.Missing, m.NumMissing}} {
		n := min(int(list.count), len(rest))
		*list.tlvs, rest = rest[:n:n], rest[n:]
	}
	return p
}
