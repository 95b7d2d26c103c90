package tun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// fence restricts UEs to their data network. The kernel routes packets from the UPF's devices, and
// its routes also lead to other networks of the host. Where a data network names its device, an
// nftables table rejects packets from the UPF's device that would leave by any other one,
// regardless of routes, rules and next hops. A routing rule cannot do this: it suppresses decisions
// by the group of the device, a device has one group, and several data networks need a set each.
//
//	device of ours ─► routes, rules of the host ─► by N6's device, or to a UE of the same network ─► on
//	                                             └► by any other device ─► counted, ICMP to the UE
//
// The table goes with the socket that made it (Linux 5.12), so a killed process leaves
// none; before, the next one replaces it.
type fence struct {
	log *slog.Logger

	mu     sync.Mutex
	nft    *nftables // nil: down
	table  string
	kept   []kept
	owned  bool   // the table goes with the socket
	before uint64 // packets refused by fences that were
	shown  uint64 // packets of this one
	said   bool   // that packets are refused
}

// kept is a device of the UPF and the permitted output devices of its packets.
type kept struct {
	device string
	to     []string
}

const (
	fenceChain   = "forward"
	fenceCounter = "refused"
)

// fenced returns the devices of data networks that name theirs.
func (t *traffic) fenced() []kept {
	var all []kept
	n6 := &t.d.cfg.N6
	keep := func(dev *device, network int) {
		if out := n6.Networks[network].Device; out != "" {
			all = append(all, kept{dev.Name, []string{out, t.devices[network].Name}})
		}
	}
	for i := range n6.Networks {
		keep(t.devices[i], i)
	}
	for way := range n6.Ways() {
		if network := n6.Of(way); t.ways[way] != t.devices[network] {
			keep(t.ways[way], network)
		}
	}
	return all
}

// raise makes the fence, in the network namespace of the caller. Where the kernel cannot, a
// line of the log says what that means.
func (f *fence) raise(prefix string, all []kept) {
	if len(all) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.table, f.kept, f.shown = prefix+"-n6", all, 0
	nft, err := openNftables()
	if err == nil {
		f.nft = nft
		if err = f.install(); err == nil {
			return
		}
		nft.close()
		f.nft = nil
	}
	f.log.Warn("UEs may reach whatever this host has routes to, not only their data network: the kernel takes no table of nftables",
		"table", f.table, "error", err)
}

// install has the kernel take the table, in place of one that a process before this one has
// left.
func (f *fence) install() error {
	name := text(unix.NFTA_TABLE_NAME, f.table)
	if err := f.nft.commit(command{unix.NFT_MSG_DELTABLE, 0, name}); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("table %s of before: %w", f.table, err)
	}
	// What a kernel may lack: owners of tables, and then what is more than dropping.
	var err error
	for _, try := range []struct {
		flags uint32
		tell  bool
	}{{tableOwner, true}, {0, true}, {0, false}} {
		table := append(append([]byte(nil), name...), number32(unix.NFTA_TABLE_FLAGS, try.flags)...)
		if err = f.nft.commit(f.commands(table, try.tell)...); err == nil {
			f.owned = try.flags&tableOwner != 0
			return nil
		}
	}
	return err
}

// commands create the table. tell: rejected packets are counted, and their senders receive ICMP.
func (f *fence) commands(table []byte, tell bool) []command {
	hook := nested(unix.NFTA_CHAIN_HOOK, number32(unix.NFTA_HOOK_HOOKNUM, unix.NF_INET_FORWARD), number32(unix.NFTA_HOOK_PRIORITY, 0))
	chain := attribute(0, text(unix.NFTA_CHAIN_TABLE, f.table), text(unix.NFTA_CHAIN_NAME, fenceChain), hook,
		number32(unix.NFTA_CHAIN_POLICY, verdictAccept), text(unix.NFTA_CHAIN_TYPE, "filter"))[4:]
	all := []command{{unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE, table}, {unix.NFT_MSG_NEWCHAIN, unix.NLM_F_CREATE, chain}}
	refuse := ending(verdictDrop)
	if tell {
		all = append(all, command{unix.NFT_MSG_NEWOBJ, unix.NLM_F_CREATE, append(f.counter(), nested(unix.NFTA_OBJ_DATA)...)})
		refuse = telling()
	}
	// What a data network sends is not a UE's: it leaves the chain at once, by the cheapest way
	// there is, since each packet to a UE comes here. N6 as a port of a VRF takes the long one.
	for _, name := range f.networks() {
		all = append(all, f.rule(append(meta(unix.NFT_META_IIFNAME), compare(unix.NFT_CMP_EQ, name)...), ending(verdictAccept)))
	}
	for _, k := range f.kept {
		// The device is a port of a VRF if the user has made it one; then the packet comes
		// by the VRF.
		for _, came := range []uint32{unix.NFT_META_IIFNAME, metaSDIFName} {
			all = append(all, f.rule(k.matches(came), refuse))
		}
	}
	return all
}

func (f *fence) rule(matches, verdict []byte) command {
	return command{unix.NFT_MSG_NEWRULE, unix.NLM_F_CREATE | unix.NLM_F_APPEND, attribute(0, text(unix.NFTA_RULE_TABLE, f.table),
		text(unix.NFTA_RULE_CHAIN, fenceChain), nested(unix.NFTA_RULE_EXPRESSIONS, matches, verdict))[4:]}
}

// networks returns the devices of the data networks, each once.
func (f *fence) networks() []string {
	var all []string
	for _, k := range f.kept {
		if !slices.Contains(all, k.to[0]) {
			all = append(all, k.to[0])
		}
	}
	return all
}

// matches finds packets that came from the device and are about to leave by none that they
// may.
func (k *kept) matches(came uint32) []byte {
	b := append(meta(came), compare(unix.NFT_CMP_EQ, k.device)...)
	b = append(b, meta(unix.NFT_META_OIFNAME)...)
	for _, name := range k.to {
		b = append(b, compare(unix.NFT_CMP_NEQ, name)...)
	}
	return b
}

func (f *fence) counter() []byte {
	return attribute(0, text(unix.NFTA_OBJ_TABLE, f.table), text(unix.NFTA_OBJ_NAME, fenceCounter), number32(unix.NFTA_OBJ_TYPE, unix.NFT_OBJECT_COUNTER))[4:]
}

func expression(name string, data ...[]byte) []byte {
	return nested(unix.NFTA_LIST_ELEM, text(unix.NFTA_EXPR_NAME, name), nested(unix.NFTA_EXPR_DATA, data...))
}

func meta(key uint32) []byte {
	return expression("meta", number32(unix.NFTA_META_DREG, unix.NFT_REG_1), number32(unix.NFTA_META_KEY, key))
}

// compare continues with the next expression if the name in the register is equal, or not equal.
func compare(op uint32, name string) []byte {
	value := make([]byte, unix.IFNAMSIZ)
	copy(value, name)
	return expression("cmp", number32(unix.NFTA_CMP_SREG, unix.NFT_REG_1), number32(unix.NFTA_CMP_OP, op),
		nested(unix.NFTA_CMP_DATA, attribute(unix.NFTA_DATA_VALUE, value)))
}

func telling() []byte {
	count := expression("objref", number32(unix.NFTA_OBJREF_IMM_TYPE, unix.NFT_OBJECT_COUNTER), text(unix.NFTA_OBJREF_IMM_NAME, fenceCounter))
	return append(count, expression("reject", number32(unix.NFTA_REJECT_TYPE, unix.NFT_REJECT_ICMPX_UNREACH),
		attribute(unix.NFTA_REJECT_ICMP_CODE, []byte{unix.NFT_REJECT_ICMPX_ADMIN_PROHIBITED}))...)
}

func ending(verdict uint32) []byte {
	return expression("immediate", number32(unix.NFTA_IMMEDIATE_DREG, unix.NFT_REG_VERDICT),
		nested(unix.NFTA_IMMEDIATE_DATA, nested(unix.NFTA_DATA_VERDICT, number32(unix.NFTA_VERDICT_CODE, verdict))))
}

// lower takes the fence away.
func (f *fence) lower() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nft == nil {
		return
	}
	_, _ = f.read()
	f.before, f.shown = f.before+f.shown, 0
	if err := f.nft.commit(command{unix.NFT_MSG_DELTABLE, 0, text(unix.NFTA_TABLE_NAME, f.table)}); err != nil && !errors.Is(err, unix.ENOENT) {
		f.log.Warn("a table of nftables that nobody needs stays", "table", f.table, "error", err)
	}
	f.nft.close()
	f.nft = nil
}

// read asks for the packets that this fence has refused.
func (f *fence) read() (uint64, error) {
	answer, err := f.nft.ask(unix.NFT_MSG_GETOBJ, f.counter())
	if err != nil {
		return 0, err
	}
	if v := find(find(answer, unix.NFTA_OBJ_DATA), unix.NFTA_COUNTER_PACKETS); len(v) == 8 {
		f.shown = binary.BigEndian.Uint64(v)
	}
	return f.shown, nil
}

// refused returns the number of packets rejected since the start. A super-packet counts once.
func (f *fence) refused() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nft != nil {
		_, _ = f.read()
	}
	return f.before + f.shown
}

// look creates the table again if it was removed, as by "nft flush ruleset" before Linux 5.12, and
// logs once that packets are rejected.
func (f *fence) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nft == nil {
		return
	}
	n, err := f.read()
	switch {
	case errors.Is(err, unix.ENOENT) && !f.there():
		f.before, f.shown = f.before+f.shown, 0
		if err := f.install(); err != nil {
			f.log.Warn("UEs may reach whatever this host has routes to: somebody has removed the table of nftables", "table", f.table, "error", err)
			return
		}
		f.log.Warn("somebody has removed the table of nftables that keeps UEs to their data network: it is there again", "table", f.table)
	case n > 0 && !f.said:
		f.said = true
		f.log.Warn("packets of UEs are refused: the routes of this host lead them out of another device than that of their data network",
			"packets", n, "table", f.table)
	}
}

// there reports whether the kernel has the table, with a counter or without.
func (f *fence) there() bool {
	_, err := f.nft.ask(unix.NFT_MSG_GETTABLE, text(unix.NFTA_TABLE_NAME, f.table))
	return err == nil
}
