# SPDX-License-Identifier: Apache-2.0
"""Controls the bridge with finsy: arguments are the server's address, P4Info and BMv2 JSON."""
import asyncio
import sys
from pathlib import Path

import finsy as fy


async def read(switch, *entities):
    return [e async for e in switch.read(entities)]


async def ready(switch):
    mac = "02:00:00:00:00:02"
    entry = fy.P4TableEntry("macs", match=fy.Match(mac=mac), action=fy.Action("forward", port=2), metadata=b"note")
    await switch.insert([entry])
    (got,) = await read(switch, fy.P4TableEntry("macs"))
    assert got.action == entry.action and got.metadata == b"note" and got.match == {"mac": 0x020000000002}, got
    try:
        await switch.insert([entry])
    except fy.P4ClientError as e:
        assert "ALREADY_EXISTS" in str(e), e
    else:
        raise AssertionError("an entry is inserted twice")
    acl = fy.P4TableEntry("acl", match=fy.Match(port=2, source="10.0.0.0/8", destination="10.0.0.0/8", protocol="6...17"),
                          action=fy.Action("drop"), priority=3)
    await switch.insert([acl])
    (got,) = await read(switch, fy.P4TableEntry("acl"))
    assert got.match == {"port": 2, "source": (0x0A000000, 0xFF000000), "destination": (0x0A000000, 8), "protocol": (6, 17)}, got.match
    print("entries")

    await switch.insert([fy.P4DigestEntry("learn_t", max_list_size=1),
                         fy.P4MulticastGroupEntry(7, replicas=[1, 2]), fy.P4CloneSessionEntry(8, replicas=[1])])
    assert len(await read(switch, fy.P4MulticastGroupEntry(), fy.P4CloneSessionEntry())) == 2
    payload = bytes.fromhex("020000000009" "020000000001" "88b5") + b"payload"
    packets, digests = switch.read_packets(), switch.read_digests("learn_t")
    packet = asyncio.ensure_future(packets.__anext__())
    digest = asyncio.ensure_future(digests.__anext__())
    await asyncio.sleep(0)
    await switch.write([fy.P4PacketOut(payload, egress_port=3, pad=0)])
    packet, digest = await asyncio.wait_for(asyncio.gather(packet, digest), 5)
    assert packet.payload == payload and packet["ingress_port"] == 1 and packet["reason"] == 1, packet
    assert digest.data[0]["mac"] == 0x020000000001 and digest.data[0]["port"] == 1, digest
    await switch.write([fy.P4DigestListAck("learn_t", digest.list_id)])
    print("packets and digests")

    (cell,) = await read(switch, fy.P4CounterEntry("ports", index=1))
    assert (cell.packet_count, cell.byte_count) == (1, 21), cell
    await switch.modify([fy.P4RegisterEntry("last", index=2, data=77)])
    (cell,) = await read(switch, fy.P4RegisterEntry("last", index=2))
    assert cell.data == 77, cell
    await switch.delete_all()
    assert not await read(switch, fy.P4TableEntry("macs"), fy.P4MulticastGroupEntry(), fy.P4DigestEntry())
    print("done", flush=True)


async def main(address, p4info, program):
    options = fy.SwitchOptions(p4info=Path(p4info), p4blob=Path(program), initial_election_id=20, fail_fast=True)
    async with fy.Switch("bridge", address, options) as switch:
        await asyncio.wait_for(ready(switch), 20)


asyncio.run(main(*sys.argv[1:]))
