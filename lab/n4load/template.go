package n4load

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Template is what sessions have in common. Session i has the i-th UE address,
// prefix and TEID after the first; all other fields are the same for all.
//
// Each session is: PDR 1 and FAR 1 uplink, from an F-TEID to CORE; PDR 2 and
// FAR 2 downlink, from the UE's addresses to the gNB; QER 1 for all PDRs, if
// there is a QFI or an MBR; URR 1 for all PDRs, if it is asked for. PDRs 3, 5,
// ... are like PDR 1 and 4, 6, ... like PDR 2, each pair with an SDF filter of
// its own and a lower Precedence value.
type Template struct {
	UE              netip.Addr   // IPv4, of session 0
	UEPrefix        netip.Prefix // IPv6 /64, of session 0; zero: IPv4 only
	GNB             netip.Addr   // IPv4, peer of the downlink tunnel
	DLTEID          uint32       // of the downlink tunnel of session 0
	N3              netip.Addr   // IPv4 of the UP function; needed if ULTEID is given
	ULTEID          uint32       // of session 0; 0: the UP function chooses F-TEIDs (CH)
	QFI             pfcp.QFI     // 0: none
	MBR             pfcp.BitRates
	URR             bool   // volume, with a threshold
	PDRs            int    // 2, 4, ... MaxPDRs; 0: 2
	NetworkInstance string // empty: absent
	DNN             string // empty: absent
	SNSSAI          pfcp.Optional[pfcp.SNSSAI]

	// Dialect adds what this UP function needs.
	Dialect Dialect
}

// MaxPDRs is how many PDRs a session of a [Template] may have.
const MaxPDRs = 128

// Validate says what is wrong with t.
func (t *Template) Validate() error {
	if t.PDRs < 0 || t.PDRs > MaxPDRs || t.PDRs%2 != 0 {
		return fmt.Errorf("n4load: %d PDRs: want an even number up to %d", t.PDRs, MaxPDRs)
	}
	if most := t.Dialect.PDRs; most > 0 && t.PDRs > most {
		return fmt.Errorf("n4load: %d PDRs: this UP function tells no more than %d of a session apart", t.PDRs, most)
	}
	if t.Dialect.CPFTEID && (t.ULTEID == 0 || !t.N3.Is4()) {
		return fmt.Errorf("n4load: uplink TEID %#x, N3 %v: this UP function chooses no F-TEIDs: give both", t.ULTEID, t.N3)
	}
	return nil
}

// Session is one PFCP session.
type Session struct {
	LocalSEID  uint64       // the CP function's
	RemoteSEID uint64       // the UP function's; 0: not established
	ULTEID     uint32       // of the UP function
	N3         netip.Addr   // of the UP function
	DLTEID     uint32       // of the gNB
	UE         netip.Addr   // IPv4
	UEPrefix   netip.Prefix // IPv6 /64; zero: none
}

// Sessions returns sessions first to first+n-1, not established yet. Their
// LocalSEID is their number, from 1.
func (t *Template) Sessions(first, n int) []Session {
	list := make([]Session, n)
	for i := range list {
		number := uint32(first + i)
		s := &list[i]
		*s = Session{
			LocalSEID: uint64(number) + 1,
			DLTEID:    t.DLTEID + number,
			UE:        addIPv4(t.UE, number),
		}
		if t.ULTEID != 0 {
			s.ULTEID, s.N3 = t.ULTEID+number, t.N3
		}
		if t.UEPrefix.IsValid() {
			s.UEPrefix = addPrefix(t.UEPrefix, number)
		}
	}
	return list
}

// addIPv4 returns the n-th address after a.
func addIPv4(a netip.Addr, n uint32) netip.Addr {
	b := a.As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+n)
	return netip.AddrFrom4(b)
}

// addPrefix returns the n-th /64 after p.
func addPrefix(p netip.Prefix, n uint32) netip.Prefix {
	b := p.Addr().As16()
	binary.BigEndian.PutUint64(b[:], binary.BigEndian.Uint64(b[:])+uint64(n))
	return netip.PrefixFrom(netip.AddrFrom16(b), p.Bits())
}
