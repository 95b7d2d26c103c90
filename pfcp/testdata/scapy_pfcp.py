#!/usr/bin/python3
"""Second opinion on PFCP: scapy's scapy.contrib.pfcp (Debian: python3-scapy).

    scapy_pfcp.py encode     prints {name: hex} of the messages below
    scapy_pfcp.py decode     reads a hex message per line, prints for each a
                             list of "path:field=value", the path being IE
                             types from the outside in, each with its index
                             among the IEs of that type beside it: "1.0/2.0/21.0"

The messages named simple-client-* are what s5uishida/simple_pfcp_client sends
(scapy too), rebuilt IE by IE, with fixed SEIDs where it has random ones and
with the interface type and the octet of Apply Action that its README adds.
"""
import json
import sys

from scapy.contrib import pfcp as p
from scapy.fields import BitField
from scapy.packet import NoPayload

CP, N3, GNB, UE = "192.168.14.111", "192.168.13.151", "192.168.13.131", "10.45.0.2"
TIME = 3977608738
N3_3GPP, N6 = 11, 17


class ApplyAction2(p.IE_ApplyAction):
    """Apply Action with its second octet."""
    name = "IE Apply Action"
    fields_desc = p.IE_Base.fields_desc + [
        BitField(bit, 0, 1) for bit in "DFRT IPMD IPMA DUPL NOCP BUFF FORW DROP s0 s1 s2 MBSU FSSM DDPN BDPN EDRT".split()]


def pdr_core(extra):
    return p.IE_CreatePDR(IE_list=[
        p.IE_PDR_Id(id=1), p.IE_Precedence(precedence=65535),
        p.IE_PDI(IE_list=[
            p.IE_SourceInterface(interface="Core"), p.IE_NetworkInstance(instance="internet"),
            p.IE_UE_IP_Address(ipv4=UE, V4=1, SD=1), p.IE_3GPP_InterfaceType(interface_type=N6)]),
        p.IE_FAR_Id(id=1)] + extra)


def pdr_access(extra):
    return p.IE_CreatePDR(IE_list=[
        p.IE_PDR_Id(id=2), p.IE_Precedence(precedence=65535),
        p.IE_PDI(IE_list=[
            p.IE_SourceInterface(interface="Access"), p.IE_FTEID(V4=1, TEID=1, ipv4=N3),
            p.IE_NetworkInstance(instance="internet"), p.IE_UE_IP_Address(ipv4=UE, V4=1, SD=0),
            p.IE_SDF_Filter(FD=1, flow_description="permit out ip from any to assigned"),
            p.IE_QFI(QFI=1), p.IE_3GPP_InterfaceType(interface_type=N3_3GPP)]),
        p.IE_FAR_Id(id=2)] + extra + [p.IE_OuterHeaderRemoval()])


def far(number, action, destination, kind, extra):
    return p.IE_CreateFAR(IE_list=[
        p.IE_FAR_Id(id=number), action(FORW=1),
        p.IE_ForwardingParameters(IE_list=[
            p.IE_DestinationInterface(interface=destination),
            p.IE_NetworkInstance(instance="internet")] + extra + [p.IE_3GPP_InterfaceType(interface_type=kind)])])


def simple_client(seid, header_seid, action, qer):
    """Its Session Establishment Request: the SEID in the header is random."""
    ref = [p.IE_QER_Id(id=1)] if qer else []
    rate = dict(ul=200000000, dl=200000000)
    rules = [p.IE_CreateQER(IE_list=[
        p.IE_QER_Id(id=1), p.IE_GateStatus(ul="OPEN", dl="OPEN"), p.IE_MBR(**rate), p.IE_GBR(**rate),
        p.IE_QFI(QFI=1)])] if qer else []
    return p.PFCP(version=1, S=1, seid=header_seid, seq=1) / p.PFCPSessionEstablishmentRequest(IE_list=[
        p.IE_NodeId(id_type=0, ipv4=CP), p.IE_FSEID(ipv4=CP, v4=1, seid=seid),
        pdr_core(ref), pdr_access(ref),
        far(1, action, "Access", N3_3GPP, [p.IE_OuterHeaderCreation(GTPUUDPIPV4=1, TEID=2, ipv4=GNB)]),
        far(2, action, "Core", N6, [])] + rules + [p.IE_PDNType(pdn_type=1), p.IE_APN_DNN(apn_dnn="internet")])


def node(seq, message):
    return p.PFCP(version=1, S=0, seq=seq) / message


def session(seid, seq, message):
    return p.PFCP(version=1, S=1, seid=seid, seq=seq) / message


def messages():
    nid, stamp = p.IE_NodeId(id_type=0, ipv4=CP), p.IE_RecoveryTimeStamp(timestamp=TIME)
    return {
        "simple-client-association": node(0, p.PFCPAssociationSetupRequest(
            IE_list=[nid, stamp, p.IE_CPFunctionFeatures()])),
        "simple-client-establishment": simple_client(0xa0374f94eb52b387, 0x5baf2710f61968ee, ApplyAction2, False),
        "simple-client-establishment-qer": simple_client(0xb3274108864b9d90, 0x9db6a46d685b1f6b, ApplyAction2, True),
        "simple-client-establishment-scapy": simple_client(
            0x88acf1156f85b3cc, 0x6d685b1f6b84baf2, p.IE_ApplyAction, True),
        "simple-client-heartbeat-request": node(2, p.PFCPHeartbeatRequest(IE_list=[stamp])),
        "simple-client-heartbeat-response": node(7, p.PFCPHeartbeatResponse(IE_list=[stamp])),
        "simple-client-release": node(3, p.PFCPAssociationReleaseRequest(IE_list=[nid])),
        "scapy-deletion": session(0x1122334455667788, 8, p.PFCPSessionDeletionRequest()),
        "scapy-path-switch": session(0x1122334455667788, 9, p.PFCPSessionModificationRequest(IE_list=[
            p.IE_UpdateFAR(IE_list=[
                p.IE_FAR_Id(id=1), p.IE_ApplyAction(FORW=1),
                p.IE_UpdateForwardingParameters(IE_list=[
                    p.IE_DestinationInterface(interface="Access"), p.IE_NetworkInstance(instance="internet"),
                    p.IE_OuterHeaderCreation(GTPUUDPIPV4=1, TEID=0xabcdef01, ipv4="192.168.13.132"),
                    p.IE_PFCPSMReqFlags(SNDEM=1)])])])),
        "scapy-establishment-choose": session(0, 10, p.PFCPSessionEstablishmentRequest(IE_list=[
            nid, p.IE_FSEID(v4=1, seid=77, ipv4=CP),
            p.IE_CreatePDR(IE_list=[
                p.IE_PDR_Id(id=1), p.IE_Precedence(precedence=100),
                p.IE_PDI(IE_list=[
                    p.IE_SourceInterface(interface="Access"), p.IE_FTEID(V4=1, CH=1, CHID=1, choose_id=5)]),
                p.IE_OuterHeaderRemoval(header=0), p.IE_FAR_Id(id=1)]),
            p.IE_CreateFAR(IE_list=[
                p.IE_FAR_Id(id=1), p.IE_ApplyAction(FORW=1),
                p.IE_ForwardingParameters(IE_list=[p.IE_DestinationInterface(interface="Core")])])])),
        "scapy-establishment-response": session(77, 10, p.PFCPSessionEstablishmentResponse(IE_list=[
            p.IE_NodeId(id_type=2, id="upf.example"), p.IE_Cause(cause=1),
            p.IE_FSEID(v4=1, v6=1, seid=0x1122334455667788, ipv4="192.168.14.151", ipv6="2001:db8::151"),
            p.IE_CreatedPDR(IE_list=[p.IE_PDR_Id(id=1), p.IE_FTEID(V4=1, TEID=0x80000001, ipv4=N3)])])),
        "scapy-deletion-response": session(77, 8, p.PFCPSessionDeletionResponse(IE_list=[p.IE_Cause(cause=65)])),
        "scapy-modification-response": session(77, 9, p.PFCPSessionModificationResponse(IE_list=[
            p.IE_Cause(cause=73), p.IE_OffendingIE(type=108), p.IE_FailedRuleId(type=1, far_id=9)])),
        "scapy-association-response": node(0, p.PFCPAssociationSetupResponse(IE_list=[
            p.IE_NodeId(id_type=1, ipv6="2001:db8::151"), p.IE_Cause(cause=1), stamp,
            p.IE_UPFunctionFeatures(FTUP=1, EMPU=1),
            p.IE_UserPlaneIPResourceInformation(V4=1, ipv4=N3, ASSONI=1, network_instance="internet")])),
        "scapy-priority": p.PFCP(version=1, S=1, MP=1, priority=9, seid=5, seq=0xffffff) /
        p.PFCPSessionDeletionRequest(),
    }


def flatten(ies, path, out):
    seen = {}
    for ie in ies:
        index = seen[ie.ietype] = seen.get(ie.ietype, -1) + 1
        here = path + "%d.%d" % (ie.ietype, index)
        for field in ie.fields_desc:
            value = ie.getfieldval(field.name)
            if field.name == "IE_list":
                flatten(value, here + "/", out)
            elif value is not None and field.name not in ("ietype", "length"):
                if isinstance(value, bytes):
                    value = value.decode("latin-1")
                out.append("%s:%s=%s" % (here, field.name, value))


def decode(line):
    packet = p.PFCP(bytes.fromhex(line))
    out = ["type=%d" % packet.message_type, "seq=%d" % packet.seq]
    if packet.S:
        out.append("seid=%d" % packet.seid)
    body = packet.payload
    if not isinstance(body, NoPayload):
        flatten(body.IE_list, "", out)
    return out


def main():
    if sys.argv[1:] == ["encode"]:
        print(json.dumps({name: bytes(packet).hex() for name, packet in messages().items()}))
    elif sys.argv[1:] == ["decode"]:
        print(json.dumps([decode(line) for line in sys.stdin if line.strip()]))
    else:
        sys.exit(__doc__)


main()
