"""Writes GTP-U messages as scapy makes them, a name and hex on each line."""

from scapy.contrib.gtp import (
    GTP_U_Header, GTP_UDPPort_ExtensionHeader, GTPEchoRequest, GTPEchoResponse,
    GTPErrorIndication, GTPPDUSessionContainer, IE_GSNAddress, IE_Recovery, IE_TEIDI,
)
from scapy.packet import Raw

messages = {
    "echo request": GTP_U_Header(S=1, E=0, seq=7, gtp_type=1) / GTPEchoRequest(),
    "echo response": GTP_U_Header(S=1, E=0, seq=7, gtp_type=2) / GTPEchoResponse(IE_list=[IE_Recovery(restart_counter=0)]),
    "end marker": GTP_U_Header(E=0, gtp_type=254, teid=0x01020304),
    "error indication": GTP_U_Header(S=1, E=1, seq=0, next_ex=0x40, gtp_type=26)
    / GTP_UDPPort_ExtensionHeader(length=1, udp_port=50001, next_ex=0)
    / Raw(bytes(IE_TEIDI(TEIDI=0x99)) + bytes(IE_GSNAddress(ietype=133, length=4, ipv4_address="10.3.0.1"))),
    "relayed": GTP_U_Header(E=1, next_ex=0x85, gtp_type=255, teid=2)
    / GTPPDUSessionContainer(type=1, QFI=5) / Raw(b"\x45\x00"),
    "marked": GTP_U_Header(E=1, next_ex=0x85, gtp_type=255, teid=2)
    / GTPPDUSessionContainer(type=0, QFI=9, RQI=1, PPP=1, PPI=5) / Raw(b"\x45\x00"),
}

for name, message in messages.items():
    print(name, bytes(message).hex(), sep="\t")
