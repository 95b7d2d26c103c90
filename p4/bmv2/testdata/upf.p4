// A small UPF for the tests of package bmv2: what it does is made to use much of v1model, not to be a whole UPF.
// upf.json is what p4c-bm2-ss 1.2.5.16 makes of it, without source_info.
#define V1MODEL_VERSION 20200408
#include <core.p4>
#include <v1model.p4>

const bit<9> CPU = 255;

@controller_header("packet_in")
header packet_in_t { bit<9> ingress_port; bit<7> pad; bit<16> reason; }

@controller_header("packet_out")
header packet_out_t { bit<9> egress_port; bit<7> pad; }

header ethernet_t { bit<48> dst; bit<48> src; bit<16> type; }
header vlan_t { bit<3> pcp; bit<1> dei; bit<12> vid; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<6> dscp; bit<2> ecn; bit<16> length;
    bit<16> id; bit<3> flags; bit<13> offset; bit<8> ttl; bit<8> protocol; bit<16> checksum;
    bit<32> src; bit<32> dst;
}
header options_t { varbit<320> data; }
header ipv6_t {
    bit<4> version; bit<8> class; bit<20> flow; bit<16> length; bit<8> next; bit<8> hops;
    bit<128> src; bit<128> dst;
}
header udp_t { bit<16> sport; bit<16> dport; bit<16> length; bit<16> checksum; }
header ports_t { bit<16> sport; bit<16> dport; }
header gtpu_t {
    bit<3> version; bit<1> pt; bit<1> spare; bit<1> ex; bit<1> seq; bit<1> npdu;
    bit<8> type; bit<16> length; bit<32> teid;
}
header gtpu_opt_t { bit<16> seq; bit<8> npdu; bit<8> next; }
header psc_t { bit<8> length; bit<4> type; bit<4> spare; bit<2> flags; bit<6> qfi; bit<8> next; }
header ext_t { bit<8> length; bit<16> content; bit<8> next; }

struct headers {
    packet_out_t packet_out;
    packet_in_t packet_in;
    ethernet_t eth;
    vlan_t vlan;
    ipv4_t ip;
    options_t options;
    ipv6_t ip6;
    udp_t udp;
    gtpu_t gtpu;
    gtpu_opt_t opt;
    psc_t psc;
    ext_t[2] ext;
    ipv4_t inner;
    ipv6_t inner6;
    udp_t inner_udp;
    ports_t ports;
}

struct learn_t { bit<32> src; bit<9> port; bit<32> teid; }

struct meta {
    @field_list(1) bit<16> reason;
    @field_list(1) bit<9> port;
    bit<32> session;
    bit<32> teid;
    bit<32> peer;
    bit<6> qfi;
    bit<16> sport;
    bit<16> dport;
    bit<8> proto;
    bit<2> color;
    bit<2> color2;
    bool up;
    bool down;
    bit<8> app;
    bit<16> payload;
}

error { BadVersion }

parser P(packet_in b, out headers h, inout meta m, inout standard_metadata_t s) {
    state start {
        transition select(s.ingress_port) { CPU: from_cpu; default: ethernet; }
    }
    state from_cpu { b.extract(h.packet_out); transition ethernet; }
    state ethernet {
        b.extract(h.eth);
        transition select(h.eth.type) { 0x8100: vlan; 0x0800: ipv4; 0x86dd: ipv6; default: accept; }
    }
    state vlan {
        b.extract(h.vlan);
        transition select(h.vlan.type) { 0x0800: ipv4; 0x86dd: ipv6; default: accept; }
    }
    state ipv4 {
        b.extract(h.ip);
        verify(h.ip.version == 4, error.BadVersion);
        transition select(h.ip.ihl, h.ip.protocol) {
            (5, 17): udp;
            (5, 6): ports;
            (0 &&& 0xc, _): accept;
            (4, _): accept;
            default: options;
        }
    }
    state options {
        b.extract(h.options, ((bit<32>)h.ip.ihl - 5) * 32);
        transition accept;
    }
    state ipv6 {
        b.extract(h.ip6);
        transition select(h.ip6.next) { 17: udp; 6: ports; default: accept; }
    }
    state udp {
        b.extract(h.udp);
        transition select(h.udp.dport, b.lookahead<bit<8>>()) {
            (2152, 0x30 &&& 0xf0): gtpu;
            default: accept;
        }
    }
    state ports { b.extract(h.ports); transition accept; }
    state gtpu {
        b.extract(h.gtpu);
        transition select(h.gtpu.ex ++ h.gtpu.seq ++ h.gtpu.npdu, h.gtpu.type) {
            (0, 255): inner;
            (0, _): accept;
            default: opt;
        }
    }
    state opt {
        b.extract(h.opt);
        transition select(h.opt.next) { 0x85: psc; 0: inner; default: ext; }
    }
    state psc {
        b.extract(h.psc);
        transition select(h.psc.next) { 0: inner; default: ext; }
    }
    state ext {
        b.extract(h.ext.next);
        transition select(h.ext.last.next) { 0: inner; default: ext; }
    }
    state inner {
        transition select(b.lookahead<bit<4>>()) { 4: inner4; 6: inner6; }
    }
    state inner4 {
        b.extract(h.inner);
        transition select(h.inner.protocol) { 17: ports; 6: ports; default: accept; }
    }
    state inner6 {
        b.extract(h.inner6);
        transition select(h.inner6.next) { 17: ports; 6: ports; default: accept; }
    }
}

control V(inout headers h, inout meta m) {
    apply {
        verify_checksum(h.ip.isValid() && h.ip.ihl == 5, { h.ip.version, h.ip.ihl, h.ip.dscp, h.ip.ecn, h.ip.length,
            h.ip.id, h.ip.flags, h.ip.offset, h.ip.ttl, h.ip.protocol, h.ip.src, h.ip.dst },
            h.ip.checksum, HashAlgorithm.csum16);
    }
}

control I(inout headers h, inout meta m, inout standard_metadata_t s) {
    direct_counter(CounterType.packets_and_bytes) uplink_count;
    direct_counter(CounterType.packets_and_bytes) downlink_count;
    direct_meter<bit<2>>(MeterType.bytes) mbr;
    counter<bit<10>>(1024, CounterType.packets_and_bytes) by_session;
    meter<bit<10>>(1024, MeterType.packets) by_app;
    register<bit<32>, bit<10>>(1024) last_teid;

    action drop() { mark_to_drop(s); }
    action to_cpu(bit<16> reason) {
        m.reason = reason;
        m.port = s.ingress_port;
        clone_preserving_field_list(CloneType.I2E, 32w5, 1);
        mark_to_drop(s);
    }
    action decap(bit<32> session, bit<6> qfi) {
        uplink_count.count();
        m.session = session;
        m.qfi = qfi;
        m.up = true;
        by_session.count(session[9:0]);
        last_teid.write(session[9:0], h.gtpu.teid);
    }
    table uplink {
        key = { h.gtpu.teid: exact; h.inner.src: exact; }
        actions = { decap; to_cpu; drop; NoAction; }
        size = 163840;
        counters = uplink_count;
        const default_action = drop();
    }
    action encap(bit<32> session, bit<32> teid, bit<32> peer, bit<6> qfi) {
        downlink_count.count();
        m.session = session;
        m.teid = teid;
        m.peer = peer;
        m.qfi = qfi;
        m.down = true;
        mbr.read(m.color);
    }
    table downlink {
        key = { h.ip.dst: exact; }
        actions = { encap; drop; NoAction; }
        size = 163840;
        counters = downlink_count;
        meters = mbr;
        default_action = NoAction();
    }
    action downlink6_encap(bit<32> session, bit<32> teid, bit<32> peer) {
        m.session = session;
        m.teid = teid;
        m.peer = peer;
        m.down = true;
    }
    table downlink6 {
        key = { h.ip6.dst[127:64]: exact @name("prefix"); }
        actions = { downlink6_encap; NoAction; }
        size = 1024;
    }
    action set_app(bit<8> app) { m.app = app; by_app.execute_meter((bit<10>)app, m.color2); }
    table apps {
        key = {
            m.session: ternary;
            h.inner.dst: ternary;
            m.dport: range;
            m.proto: ternary;
        }
        actions = { set_app; drop; NoAction; }
        size = 163840;
        default_action = set_app(0);
    }
    action forward(bit<48> dst, bit<48> src, bit<9> port) {
        h.eth.dst = dst;
        h.eth.src = src;
        s.egress_spec = port;
    }
    action flood(bit<16> group) { s.mcast_grp = group; }
    table routes {
        key = { h.ip.dst: lpm; }
        actions = { forward; flood; drop; }
        size = 4096;
        const default_action = drop();
    }
    action hop(bit<48> dst, bit<9> port) { h.eth.dst = dst; s.egress_spec = port; }
    table routes6 {
        key = { h.ip6.dst: lpm; h.ip6.class: exact; }
        actions = { hop; drop; }
        size = 128;
        const default_action = drop();
    }
    table by_dscp {
        key = { h.ip.dscp: ternary; }
        actions = { NoAction; drop; }
        const default_action = NoAction();
        const entries = {
            63 : drop();
            48 &&& 48 : NoAction();
            40 &&& 40 : drop();
        }
    }
    apply {
        if (h.packet_out.isValid()) {
            s.egress_spec = h.packet_out.egress_port;
            h.packet_out.setInvalid();
            exit;
        }
        if (s.parser_error != error.NoError) {
            drop();
            exit;
        }
        if (s.checksum_error == 1) {
            to_cpu(77);
            exit;
        }
        if (h.inner.isValid()) {
            m.dport = h.ports.dport;
            m.proto = h.inner.protocol;
            if (uplink.apply().hit) {
                h.ip = h.inner;
                h.inner.setInvalid();
                h.udp.setInvalid();
                h.gtpu.setInvalid();
                h.opt.setInvalid();
                h.psc.setInvalid();
                h.ext.pop_front(2);
                h.eth.type = 0x0800;
                digest<learn_t>(1, { h.ip.src, s.ingress_port, m.session });
            } else {
                return;
            }
        } else if (h.ip.isValid()) {
            if (downlink.apply().hit) {
                m.payload = h.ip.length;
            }
        } else if (h.ip6.isValid()) {
            downlink6.apply();
        }
        if (m.up) {
            apps.apply();
        }
        if (m.color == 2 || m.color2 == 2 || s.egress_spec == 511) {
            drop();
            return;
        }
        if (m.down && h.ip.isValid()) {
            h.inner = h.ip;
            h.inner_udp = h.udp;
            h.udp.setValid();
            h.udp.sport = 2152;
            h.udp.dport = 2152;
            h.udp.length = h.inner.length + 24;
            h.gtpu.setValid();
            h.gtpu.version = 1;
            h.gtpu.pt = 1;
            h.gtpu.ex = 1;
            h.gtpu.type = 255;
            h.gtpu.length = h.inner.length + 8;
            h.gtpu.teid = m.teid;
            h.opt.setValid();
            h.opt.next = 0x85;
            h.psc.setValid();
            h.psc.length = 1;
            h.psc.qfi = m.qfi;
            h.ip.ihl = 5;
            h.ip.length = h.inner.length + 44;
            h.ip.id = 0;
            h.ip.flags = 0;
            h.ip.offset = 0;
            h.ip.ttl = 64;
            h.ip.protocol = 17;
            h.ip.src = 0x0a000001;
            h.ip.dst = m.peer;
        }
        if (h.ip.isValid()) {
            routes.apply();
            by_dscp.apply();
            h.ip.ttl = h.ip.ttl |-| 1;
        } else if (h.ip6.isValid()) {
            routes6.apply();
        }
    }
}

control E(inout headers h, inout meta m, inout standard_metadata_t s) {
    apply {
        if (s.instance_type == 1) {
            h.packet_in.setValid();
            h.packet_in.ingress_port = m.port;
            h.packet_in.reason = m.reason;
        } else if (s.egress_rid == 2) {
            h.vlan.setValid();
            h.vlan.vid = 7;
            h.vlan.type = h.eth.type;
            h.eth.type = 0x8100;
        }
    }
}

control C(inout headers h, inout meta m) {
    apply {
        update_checksum(h.ip.isValid() && h.ip.ihl == 5, { h.ip.version, h.ip.ihl, h.ip.dscp, h.ip.ecn, h.ip.length,
            h.ip.id, h.ip.flags, h.ip.offset, h.ip.ttl, h.ip.protocol, h.ip.src, h.ip.dst },
            h.ip.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(h.udp.isValid() && h.gtpu.isValid(), { h.ip.src, h.ip.dst, 8w0, h.ip.protocol,
            h.udp.length, h.udp.sport, h.udp.dport, h.udp.length, 16w0, h.gtpu, h.opt, h.psc, h.inner, h.inner_udp, h.ports },
            h.udp.checksum, HashAlgorithm.csum16);
    }
}

control D(packet_out b, in headers h) {
    apply {
        b.emit(h.packet_in);
        b.emit(h.eth);
        b.emit(h.vlan);
        b.emit(h.ip);
        b.emit(h.options);
        b.emit(h.ip6);
        b.emit(h.udp);
        b.emit(h.gtpu);
        b.emit(h.opt);
        b.emit(h.psc);
        b.emit(h.ext);
        b.emit(h.inner);
        b.emit(h.inner6);
        b.emit(h.inner_udp);
        b.emit(h.ports);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;
