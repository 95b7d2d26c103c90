package main

import "strings"

// examples is the end of the --help of a command that needs no more than them.
func examples(lines ...string) string {
	return "Examples:\n\n    " + strings.Join(lines, "\n    ") + "\n"
}

// Help of each is shown by its --help.

func (upfRun) Help() string {
	return examples("plumb upf --config upf.yaml", "plumb upf run --config upf.yaml")
}

func (upfCheckConfig) Help() string {
	return examples("plumb upf check-config upf.yaml", "plumb upf check-config --live upf.yaml")
}

func (upfUnpin) Help() string {
	return examples("plumb upf unpin upf.yaml")
}

func (n4Run) Help() string {
	return examples("plumb n4 --config n4.yaml")
}

func (n4CheckConfig) Help() string {
	return examples("plumb n4 check-config n4.yaml", "plumb n4 check-config --live n4.yaml")
}

func (datapathRun) Help() string {
	return examples("plumb datapath --config dp1.yaml")
}

func (datapathCheckConfig) Help() string {
	return examples("plumb datapath check-config dp1.yaml", "plumb datapath check-config --live dp1.yaml")
}

func (gnbRun) Help() string {
	return examples("plumb gnb --config gnb.yaml", "plumb gnb run --config gnb.yaml")
}

func (gnbCheckConfig) Help() string {
	return examples("plumb gnb check-config gnb.yaml", "plumb gnb check-config --n4 10.3.0.1 gnb.yaml")
}

func (nfapiVNFRun) Help() string {
	return examples("plumb nfapi vnf --config vnf.yaml", "plumb nfapi vnf run --config vnf.yaml")
}

func (nfapiVNFCheckConfig) Help() string {
	return examples("plumb nfapi vnf check-config vnf.yaml")
}

func (nfapiPNFRun) Help() string {
	return examples("plumb nfapi pnf --config pnf.yaml", "plumb nfapi pnf run --config pnf.yaml")
}

func (nfapiPNFCheckConfig) Help() string {
	return examples("plumb nfapi pnf check-config pnf.yaml")
}

func (nfapiMonoRun) Help() string {
	return examples("plumb nfapi mono --config mono.yaml", "plumb nfapi mono run --config mono.yaml")
}

func (nfapiMonoCheckConfig) Help() string {
	return examples("plumb nfapi mono check-config mono.yaml")
}

func (nfapiImpairRun) Help() string {
	return examples("plumb nfapi impair --config impair.yaml", "plumb nfapi impair run --config impair.yaml")
}

func (nfapiImpairCheckConfig) Help() string {
	return examples("plumb nfapi impair check-config impair.yaml")
}

func (pfcpCheckConfig) Help() string {
	return examples("plumb pfcp check-config mine.yaml")
}

func (showSession) Help() string {
	return examples("plumb show session 0x00880fa347000000", "plumb show session 0x00880fa347000000 --json")
}

func (showAssociations) Help() string {
	return examples("plumb show associations", "plumb show associations --socket /run/plumbline/n4.sock")
}

func (showDatapath) Help() string {
	return examples("plumb show datapath", "plumb show datapath --json")
}

func (showSlices) Help() string {
	return examples("plumb show slices", "plumb show slices --json")
}

func (showPeers) Help() string {
	return examples("plumb show peers", "plumb show peers --json")
}

func (showConfig) Help() string {
	return examples("plumb show config > upf.yaml")
}

func (pfcpListCommand) Help() string {
	return examples("plumb pfcp list")
}

func (pfcpShowCommand) Help() string {
	return examples("plumb pfcp show open5gs", "plumb pfcp show open5gs > mine.yaml")
}

func (pfcpDecodeCommand) Help() string {
	return examples("plumb pfcp decode 2001000c00000100006000040badcafe", "plumb pfcp decode --json < messages.hex")
}
