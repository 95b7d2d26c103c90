#!/usr/bin/python3
"""The simple PFCP client (s5uishida/simple_pfcp_client) against an endpoint.

    simple_client.py ADDRESS PORT

Its messages are built by scapy as it builds them, IE by IE: a random SEID in
the establishment's F-SEID and (as one of its versions has it) in the header
too, a CP-given F-TEID, Network Instances, an SDF filter, QFI, 3GPP Interface
Types, PDN Type, APN/DNN. It does not wait between association and
establishment. It sends raw IP from port 8805; here a UDP socket does.

Prints what scapy makes of each response, one JSON object per line.
"""
import json
import random
import socket
import sys

from scapy.contrib import pfcp as p

CP, N3, GNB, UE = "192.168.14.111", "192.168.13.151", "192.168.13.131", "10.45.0.2"
TIME = 3977608738
N3_3GPP, N6 = 11, 17  # this scapy has no names for them


def pdrs(qer):
    return [
        p.IE_CreatePDR(IE_list=[
            p.IE_PDR_Id(id=1), p.IE_Precedence(precedence=65535),
            p.IE_PDI(IE_list=[
                p.IE_SourceInterface(interface="Core"), p.IE_NetworkInstance(instance="internet"),
                p.IE_UE_IP_Address(ipv4=UE, V4=1, SD=1), p.IE_3GPP_InterfaceType(interface_type=N6)]),
            p.IE_FAR_Id(id=1)] + qer),
        p.IE_CreatePDR(IE_list=[
            p.IE_PDR_Id(id=2), p.IE_Precedence(precedence=65535),
            p.IE_PDI(IE_list=[
                p.IE_SourceInterface(interface="Access"), p.IE_FTEID(V4=1, TEID=1, ipv4=N3),
                p.IE_NetworkInstance(instance="internet"), p.IE_UE_IP_Address(ipv4=UE, V4=1),
                p.IE_SDF_Filter(FD=1, flow_description="permit out ip from any to assigned"),
                p.IE_QFI(QFI=1), p.IE_3GPP_InterfaceType(interface_type=N3_3GPP)]),
            p.IE_FAR_Id(id=2)] + qer + [p.IE_OuterHeaderRemoval()])]


def fars():
    return [
        p.IE_CreateFAR(IE_list=[
            p.IE_FAR_Id(id=1), p.IE_ApplyAction(FORW=1),
            p.IE_ForwardingParameters(IE_list=[
                p.IE_DestinationInterface(interface="Access"), p.IE_NetworkInstance(instance="internet"),
                p.IE_OuterHeaderCreation(GTPUUDPIPV4=1, TEID=2, ipv4=GNB),
                p.IE_3GPP_InterfaceType(interface_type=N3_3GPP)])]),
        p.IE_CreateFAR(IE_list=[
            p.IE_FAR_Id(id=2), p.IE_ApplyAction(FORW=1),
            p.IE_ForwardingParameters(IE_list=[
                p.IE_DestinationInterface(interface="Core"), p.IE_NetworkInstance(instance="internet"),
                p.IE_3GPP_InterfaceType(interface_type=N6)])])]


def establishment(seid):
    qer = [p.IE_CreateQER(IE_list=[
        p.IE_QER_Id(id=1), p.IE_GateStatus(ul="OPEN", dl="OPEN"), p.IE_MBR(ul=200000000, dl=200000000),
        p.IE_GBR(ul=200000000, dl=200000000), p.IE_QFI(QFI=1)])]
    return p.PFCPSessionEstablishmentRequest(
        IE_list=[p.IE_NodeId(id_type=0, ipv4=CP), p.IE_FSEID(ipv4=CP, v4=1, seid=seid)]
        + pdrs([p.IE_QER_Id(id=1)]) + fars() + qer
        + [p.IE_PDNType(pdn_type=1), p.IE_APN_DNN(apn_dnn="internet")])


class Client:
    def __init__(self, address, port):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(5)
        self.socket.connect((address, port))
        self.sequence = 0

    def send(self, message, seid=None):
        self.sequence += 1
        self.socket.send(bytes(
            p.PFCP(version=1, S=0 if seid is None else 1, seid=seid or 0, seq=self.sequence) / message))

    def receive(self):
        r = p.PFCP(self.socket.recv(65536))
        ies = {}
        for i in r.payload.IE_list:
            if isinstance(i, p.IE_Cause):
                ies["cause"] = i.cause
            if isinstance(i, p.IE_FSEID):
                ies["seid"] = i.seid
        print(json.dumps({"type": r.message_type, "sequence": r.seq, "header_seid": r.seid if r.S else 0, **ies}))
        return ies


def main():
    client = Client(sys.argv[1], int(sys.argv[2]))
    node = p.IE_NodeId(id_type=0, ipv4=CP)
    cp_seid = random.getrandbits(64)
    client.send(p.PFCPAssociationSetupRequest(
        IE_list=[node, p.IE_RecoveryTimeStamp(timestamp=TIME), p.IE_CPFunctionFeatures()]))
    client.send(establishment(cp_seid), seid=random.getrandbits(64))
    client.receive()
    client.receive()
    print(json.dumps({"cp_seid": cp_seid}), flush=True)
    sys.stdin.readline()  # the test has a look
    client.send(p.PFCPHeartbeatRequest(IE_list=[p.IE_RecoveryTimeStamp(timestamp=TIME)]))
    client.receive()
    client.send(p.PFCPAssociationReleaseRequest(IE_list=[node]))
    client.receive()


main()
