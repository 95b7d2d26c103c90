# SPDX-License-Identifier: Apache-2.0
"""Controls the bridge with p4runtime-shell: arguments are the server's address, P4Info and BMv2 JSON."""
import sys
import time

import grpc
import p4runtime_sh.p4runtime as p4runtime
import p4runtime_sh.shell as sh


def only(entries):
    entries = list(entries)
    assert len(entries) == 1, entries
    return entries[0]


def refused(code, do):
    try:
        do()
    except p4runtime.P4RuntimeWriteException as e:
        got = [x.canonical_code for _, x in e.errors]
        assert got == [code.value[0]], (got, code)
    else:
        raise AssertionError("it was not refused with %s" % code)


address, p4info, program = sys.argv[1:]
sh.setup(device_id=1, grpc_addr=address, election_id=(0, 10), config=sh.FwdPipeConfig(p4info, program), verbose=False)
try:
    print("version", sh.APIVersion())

    entry = sh.TableEntry("BridgeIngress.macs")(action="BridgeIngress.forward")
    entry.match["mac"] = "02:00:00:00:00:02"
    entry.action["port"] = "2"
    entry.insert()
    refused(grpc.StatusCode.ALREADY_EXISTS, entry.insert)
    entry.action["port"] = "3"
    entry.modify()
    got = only(sh.TableEntry("BridgeIngress.macs").read())
    entry.counter_data.packet_count = 5
    entry.meter_config.cir = 1
    entry.meter_config.cburst = 2
    entry.meter_config.pir = 3
    entry.meter_config.pburst = 4
    entry.modify()
    got = only(sh.TableEntry("BridgeIngress.macs").read())
    counter = sh.DirectCounterEntry("BridgeIngress.hits")
    counter.table_entry.match["mac"] = "02:00:00:00:00:02"
    assert only(counter.read()).packet_count == 5
    meter = sh.DirectMeterEntry("BridgeIngress.pace")
    meter.table_entry.match["mac"] = "02:00:00:00:00:02"
    assert only(meter.read()).pburst == 4
    print("entries")

    acl = sh.TableEntry("BridgeIngress.acl")(action="BridgeIngress.drop")
    acl.match["port"] = "2"
    acl.match["source"] = "10.0.0.0&&&255.0.0.0"
    acl.match["destination"] = "10.0.0.0/8"
    acl.match["protocol"] = "6..17"
    acl.priority = 3
    acl.insert()
    assert only(sh.TableEntry("BridgeIngress.acl").read()).priority == 3
    acl.delete()
    refused(grpc.StatusCode.NOT_FOUND, acl.delete)
    assert not list(sh.TableEntry("BridgeIngress.acl").read())

    default = sh.TableEntry("BridgeIngress.macs")(action="BridgeIngress.to_controller", is_default=True)
    default.action["reason"] = "9"
    default.modify()
    print("match kinds, default entry")

    group = sh.MulticastGroupEntry(7)
    group.add(1, 1).add(2, 1)
    group.insert()
    assert len(only(sh.MulticastGroupEntry(7).read()).replicas) == 2
    session = sh.CloneSessionEntry(8)
    session.add(1, 1)
    session.insert()
    assert len(list(sh.CloneSessionEntry().read())) == 1
    print("groups and sessions")

    digest = sh.DigestEntry("learn_t")
    digest.max_list_size = 1
    digest.insert()
    digests = sh.DigestList()
    packets = sh.PacketIn()
    out = sh.PacketOut(payload=bytes.fromhex("020000000009" "020000000001" "88b5") + b"payload", egress_port="3")
    out.send()  # who runs this has what leaves by port 3 come back by port 1
    packet = only(packets.sniff(timeout=2)).packet
    assert packet.payload == out.payload, packet
    assert [m.value for m in packet.metadata] == [b"\x01", b"\x09"], packet
    learnt = only(digests.sniff(timeout=1)).digest
    assert learnt.data[0].struct.members[0].bitstring == bytes.fromhex("020000000001"), learnt
    print("packets and digests")

    counters = sh.CounterEntry("BridgeIngress.ports")
    counters.index = 1
    cell = only(counters.read())
    assert (cell.packet_count, cell.byte_count) == (1, 21), cell
    assert len(list(sh.CounterEntry("BridgeIngress.ports").read())) == 16
    rate = sh.MeterEntry("BridgeIngress.rates")
    rate.index = 3
    rate.cir, rate.cburst, rate.pir, rate.pburst = 1, 2, 3, 4
    rate.modify()
    assert only(rate.read()).pir == 3
    print("counters and meters")
    print("done")
finally:
    sh.teardown()
    sys.stdout.flush()
    time.sleep(0.1)
    import os
    if sys.exc_info()[0] is None:
        os._exit(0)  # its threads wait for packets for ever
