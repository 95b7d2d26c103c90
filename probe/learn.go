package probe

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/cilium/ebpf"
)

// Key says which packets of a UPF belong to a slice. Parts that are zero are not used;
// each of the others is a way for itself.
type Key struct {
	TEID uint32       // of uplink packets
	UE   netip.Prefix // has the UE's address; of IPv6 its first 64 bits are looked at. The longest prefix counts
	QFI  uint8        // of uplink packets of which neither TEID nor UE says anything
}

// prefixWeak is PREFIX_WEAK: what was learnt from packets comes first.
const prefixWeak = 1 << 16

// number returns the number of a pair, which is made if there is room. p.mu is held.
func (p *Probe) number(x pair) (uint32, bool) {
	if n, ok := p.numbers[x]; ok {
		return n, true
	}
	n := uint32(len(p.pairs))
	if int(n) >= p.cfg.pairs() {
		return 0, false
	}
	p.pairs = append(p.pairs, x)
	p.numbers[x] = n
	return n, true
}

// Learn says that packets of a key belong to a slice. It may say so of a key again, with
// another slice, which counts for packets that come in later than about 10 ms after.
//
// Slices are told apart by Name. There is room for 48 that Config.Slices does not have,
// each for one UPF, if there are no more UPFs than expected, and for 262,144 TEIDs and as
// many prefixes; an error says that it is used up, and packets of the key belong to the
// slice "".
func (p *Probe) Learn(upf int, k Key, s Slice) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if upf < 0 || upf >= len(p.upfs) {
		return fmt.Errorf("probe: learn: UPF %d: there are %d", upf, len(p.upfs))
	}
	n, ok := p.number(pair{upf, s.Name})
	if !ok {
		return fmt.Errorf("probe: learn: slice %q of UPF %s: no room for more slices", s.Name, p.upfs[upf].Name)
	}
	if err := p.learn(upf, k, n); err != nil {
		return fmt.Errorf("probe: learn %+v: %w", k, err)
	}
	p.renew()
	return nil
}

func (p *Probe) learn(upf int, k Key, n uint32) error {
	if k.TEID != 0 {
		if err := p.base.Maps["pair_by_teid"].Put(uint64(upf)<<32|uint64(k.TEID), n); err != nil {
			return err
		}
	}
	if k.UE.IsValid() {
		if err := p.putPrefix(upf, k.UE, n); err != nil {
			return err
		}
	}
	if k.QFI == 0 {
		return nil
	}
	if k.QFI >= qfis {
		return fmt.Errorf("QFI %d: want less than %d", k.QFI, qfis)
	}
	return p.base.Maps["pair_by_qfi"].Put(uint32(upf*qfis+int(k.QFI)), n+1)
}

// Forget ends what Learn said. It is no error if it said nothing.
func (p *Probe) Forget(upf int, k Key) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	if k.TEID != 0 {
		errs = append(errs, gone(p.base.Maps["pair_by_teid"].Delete(uint64(upf)<<32|uint64(k.TEID))))
	}
	if k.UE.IsValid() {
		errs = append(errs, gone(p.base.Maps["pair_by_prefix"].Delete(prefixKey(upf, k.UE))))
		if upf >= 0 && upf < len(p.upfs) && slices.Contains(p.upfs[upf].UEs, k.UE) {
			errs = append(errs, p.setPrefixes(upf, nil, []netip.Prefix{k.UE}))
		}
	}
	if k.QFI != 0 && k.QFI < qfis {
		errs = append(errs, p.base.Maps["pair_by_qfi"].Put(uint32(upf*qfis+int(k.QFI)), uint32(0)))
	}
	p.renew()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("probe: forget %+v: %w", k, err)
	}
	return nil
}

func gone(err error) error {
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	return err
}

func (p *Probe) putPrefix(upf int, prefix netip.Prefix, value uint32) error {
	return p.base.Maps["pair_by_prefix"].Put(prefixKey(upf, prefix), value)
}

// prefixKey is the key of a prefix; of IPv6 no more than 64 bits.
func prefixKey(upf int, prefix netip.Prefix) probePrefixKey {
	prefix = prefix.Masked()
	k := probePrefixKey{Upf: uint8(upf), Version: 4}
	size := min(prefix.Bits(), 64)
	if !prefix.Addr().Is4() {
		k.Version = 6
	}
	copy(k.Address[:], prefix.Addr().AsSlice())
	k.Bits = uint32(16 + size)
	return k
}

// renewPause is how long a change of what is known may wait for the next epoch: all
// that programs have found is looked for again then.
const renewPause = 10 * time.Millisecond

// renew begins an epoch, at once or soon. p.mu is held.
func (p *Probe) renew() {
	switch wait := time.Until(p.begun.Add(renewPause)); {
	case wait <= 0:
		p.nextEpoch()
	case !p.renewing:
		p.renewing = true
		time.AfterFunc(wait, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.renewing = false
			p.nextEpoch()
		})
	}
}

// nextEpoch begins an epoch. p.mu is held.
func (p *Probe) nextEpoch() {
	if p.closed {
		return
	}
	p.begun = time.Now()
	p.epoch++
	// Only a collection that is closed has no such variable any more.
	_ = p.base.Variables["epoch"].Set(p.epoch)
}

// inPacket is an IPv4 address as programs read it from a header.
func inPacket(a netip.Addr) uint32 {
	b := a.As4()
	return binary.NativeEndian.Uint32(b[:])
}
