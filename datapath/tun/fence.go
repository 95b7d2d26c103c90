package tun

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"golang.org/x/sys/unix"
)

// fence keeps UEs to their data network. The kernel routes what leaves our devices, and its
// routes lead to other networks of the host, too. Where a data network names its device, a
// table of the packet filter refuses what came from ours and is about to leave by any other
// one: whatever routes, rules and next hops there are, the device by which a packet leaves
// is what counts. A rule of the routing tables could not see that: it suppresses decisions
// by the group of the device, a device has one group, and several data networks need a set
// each.
//
//	device of ours ─► routes, rules of the host ─► by N6's device, or to a UE of the same network ─► on
//	        │                                    └► by any other device ─► counted, ICMP to the UE
//	        └► an address of this host ─► counted
//
// The second way is for routes of type local that the user has added for whole networks: the
// datapath itself drops what is to the addresses of the host's devices. The rule looks at the
// address before anybody translates it, so that the user may still redirect what UEs send to
// a program of the host.
//
// The table goes with the socket that made it (Linux 5.12), so a killed process leaves
// none; before, the next one replaces it.
type fence struct {
	log *slog.Logger

	mu     sync.Mutex
	nft    *nftables // nil: down
	table  string
	kept   []kept
	owned  bool    // the table goes with the socket
	before refused // by fences that were
	shown  refused // by this one
	said   [whys]bool
}

// refused are packets, by why. One that stands for several (a super-packet) is one.
type refused [whys]uint64

const (
	away  = iota // about to leave by another device than N6's
	local        // to this host
	whys
)

// add returns the sum.
func (r refused) add(more refused) refused {
	return refused{r[away] + more[away], r[local] + more[local]}
}

// kept is a device of ours and the devices by which what came from it may leave.
type kept struct {
	device string
	to     []string
}

// chains are where packets are looked at, each with its counter.
var chains = [whys]struct {
	name, counter  string
	hook, priority uint32
}{
	away:  {"forward", "refused", unix.NF_INET_FORWARD, 0},
	local: {"prerouting", "local", unix.NF_INET_PRE_ROUTING, beforeNAT},
}

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
	f.table, f.kept, f.shown = prefix+"-n6", all, refused{}
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
	// What a kernel may lack: owners of tables, then what is more than dropping; and each
	// time the look at the routing tables.
	var err, lacking error
	for _, try := range []tableOf{{tableOwner, true, true}, {tableOwner, true, false}, {0, true, true}, {0, true, false}, {0, false, true}, {0, false, false}} {
		table := append(append([]byte(nil), name...), number32(unix.NFTA_TABLE_FLAGS, try.flags)...)
		if err = f.nft.commit(f.commands(table, try)...); err == nil {
			f.owned = try.flags&tableOwner != 0
			if !try.hosts {
				f.log.Warn("UEs may reach this host by routes of type local that somebody adds: the kernel has no expression fib of nftables",
					"table", f.table, "error", lacking)
			}
			return nil
		}
		lacking = err
	}
	return err
}

// tableOf is what a table is to have.
type tableOf struct {
	flags uint32
	tell  bool // refused packets are counted, and their senders told
	hosts bool // what is to this host is refused, too
}

// commands make the table.
func (f *fence) commands(table []byte, o tableOf) []command {
	all := []command{{unix.NFT_MSG_NEWTABLE, unix.NLM_F_CREATE, table}}
	for why := range chains {
		if why != local || o.hosts {
			all = append(all, f.chain(why))
			if o.tell {
				all = append(all, command{unix.NFT_MSG_NEWOBJ, unix.NLM_F_CREATE, append(f.counter(why), nested(unix.NFTA_OBJ_DATA)...)})
			}
		}
	}
	for _, k := range f.kept {
		// The device is a port of a VRF if the user has made it one; then the packet comes
		// by the VRF.
		for _, came := range []uint32{unix.NFT_META_IIFNAME, metaSDIFName} {
			all = append(all, f.rule(away, k.leaves(came), refusing(away, o.tell)))
		}
		if o.hosts {
			all = append(all, f.rule(local, k.stays(), refusing(local, o.tell)))
		}
	}
	return all
}

func (f *fence) chain(why int) command {
	c := &chains[why]
	hook := nested(unix.NFTA_CHAIN_HOOK, number32(unix.NFTA_HOOK_HOOKNUM, c.hook), number32(unix.NFTA_HOOK_PRIORITY, c.priority))
	return command{unix.NFT_MSG_NEWCHAIN, unix.NLM_F_CREATE, attribute(0, text(unix.NFTA_CHAIN_TABLE, f.table), text(unix.NFTA_CHAIN_NAME, c.name), hook,
		number32(unix.NFTA_CHAIN_POLICY, verdictAccept), text(unix.NFTA_CHAIN_TYPE, "filter"))[4:]}
}

func (f *fence) rule(why int, matches, refuse []byte) command {
	return command{unix.NFT_MSG_NEWRULE, unix.NLM_F_CREATE | unix.NLM_F_APPEND, attribute(0, text(unix.NFTA_RULE_TABLE, f.table),
		text(unix.NFTA_RULE_CHAIN, chains[why].name), nested(unix.NFTA_RULE_EXPRESSIONS, matches, refuse))[4:]}
}

// leaves finds packets that came from the device and are about to leave by none that they
// may.
func (k *kept) leaves(came uint32) []byte {
	b := append(meta(came), compareName(unix.NFT_CMP_EQ, k.device)...)
	b = append(b, meta(unix.NFT_META_OIFNAME)...)
	for _, name := range k.to {
		b = append(b, compareName(unix.NFT_CMP_NEQ, name)...)
	}
	return b
}

// stays finds packets that came from the device and are to an address of this host, by the
// routing table local.
func (k *kept) stays() []byte {
	b := append(meta(unix.NFT_META_IIFNAME), compareName(unix.NFT_CMP_EQ, k.device)...)
	b = append(b, expression("fib", number32(unix.NFTA_FIB_DREG, unix.NFT_REG_1), number32(unix.NFTA_FIB_RESULT, unix.NFT_FIB_RESULT_ADDRTYPE),
		number32(unix.NFTA_FIB_FLAGS, unix.NFTA_FIB_F_DADDR))...)
	return append(b, compare(unix.NFT_CMP_EQ, binary.NativeEndian.AppendUint32(nil, unix.RTN_LOCAL))...)
}

func (f *fence) counter(why int) []byte {
	return attribute(0, text(unix.NFTA_OBJ_TABLE, f.table), text(unix.NFTA_OBJ_NAME, chains[why].counter), number32(unix.NFTA_OBJ_TYPE, unix.NFT_OBJECT_COUNTER))[4:]
}

func expression(name string, data ...[]byte) []byte {
	return nested(unix.NFTA_LIST_ELEM, text(unix.NFTA_EXPR_NAME, name), nested(unix.NFTA_EXPR_DATA, data...))
}

func meta(key uint32) []byte {
	return expression("meta", number32(unix.NFTA_META_DREG, unix.NFT_REG_1), number32(unix.NFTA_META_KEY, key))
}

// compareName is compare with the name of a device.
func compareName(op uint32, name string) []byte {
	value := make([]byte, unix.IFNAMSIZ)
	copy(value, name)
	return compare(op, value)
}

// compare goes on with the next expression if the register has this value, or has not.
func compare(op uint32, value []byte) []byte {
	return expression("cmp", number32(unix.NFTA_CMP_SREG, unix.NFT_REG_1), number32(unix.NFTA_CMP_OP, op),
		nested(unix.NFTA_CMP_DATA, attribute(unix.NFTA_DATA_VALUE, value)))
}

// refusing drops a packet. tell: it is counted, and its sender told, unless it was to this
// host: the datapath says nothing about its addresses either.
func refusing(why int, tell bool) []byte {
	drop := expression("immediate", number32(unix.NFTA_IMMEDIATE_DREG, unix.NFT_REG_VERDICT),
		nested(unix.NFTA_IMMEDIATE_DATA, nested(unix.NFTA_DATA_VERDICT, number32(unix.NFTA_VERDICT_CODE, verdictDrop))))
	if !tell {
		return drop
	}
	count := expression("objref", number32(unix.NFTA_OBJREF_IMM_TYPE, unix.NFT_OBJECT_COUNTER), text(unix.NFTA_OBJREF_IMM_NAME, chains[why].counter))
	if why == local {
		return append(count, drop...)
	}
	return append(count, expression("reject", number32(unix.NFTA_REJECT_TYPE, unix.NFT_REJECT_ICMPX_UNREACH),
		attribute(unix.NFTA_REJECT_ICMP_CODE, []byte{unix.NFT_REJECT_ICMPX_ADMIN_PROHIBITED}))...)
}

// lower takes the fence away.
func (f *fence) lower() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nft == nil {
		return
	}
	_ = f.read()
	f.before, f.shown = f.before.add(f.shown), refused{}
	if err := f.nft.commit(command{unix.NFT_MSG_DELTABLE, 0, text(unix.NFTA_TABLE_NAME, f.table)}); err != nil && !errors.Is(err, unix.ENOENT) {
		f.log.Warn("a table of nftables that nobody needs stays", "table", f.table, "error", err)
	}
	f.nft.close()
	f.nft = nil
}

// read asks for the packets that this fence has refused.
func (f *fence) read() error {
	for why := range chains {
		answer, err := f.nft.ask(unix.NFT_MSG_GETOBJ, f.counter(why))
		switch {
		case why == local && errors.Is(err, unix.ENOENT): // this kernel has none
		case err != nil:
			return err
		}
		if v := find(find(answer, unix.NFTA_OBJ_DATA), unix.NFTA_COUNTER_PACKETS); len(v) == 8 {
			f.shown[why] = binary.BigEndian.Uint64(v)
		}
	}
	return nil
}

// refused returns how many packets were refused since the start.
func (f *fence) refused() refused {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nft != nil {
		_ = f.read()
	}
	return f.before.add(f.shown)
}

// look puts the fence up again if somebody has taken it away, as "nft flush ruleset" does
// before Linux 5.12, and says once that packets are refused.
func (f *fence) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nft == nil {
		return
	}
	if err := f.read(); errors.Is(err, unix.ENOENT) && !f.there() {
		f.before, f.shown = f.before.add(f.shown), refused{}
		if err := f.install(); err != nil {
			f.log.Warn("UEs may reach whatever this host has routes to: somebody has removed the table of nftables", "table", f.table, "error", err)
			return
		}
		f.log.Warn("somebody has removed the table of nftables that keeps UEs to their data network: it is there again", "table", f.table)
	}
	for why, text := range [whys]string{
		away:  "packets of UEs are refused: the routes of this host lead them out of another device than that of their data network",
		local: "packets of UEs are refused: a route of type local makes their destination an address of this host",
	} {
		if n := f.shown[why]; n > 0 && !f.said[why] {
			f.said[why] = true
			f.log.Warn(text, "packets", n, "table", f.table)
		}
	}
}

// there reports whether the kernel has the table, with a counter or without.
func (f *fence) there() bool {
	_, err := f.nft.ask(unix.NFT_MSG_GETTABLE, text(unix.NFTA_TABLE_NAME, f.table))
	return err == nil
}
