package n4

import "plumbline/pfcp"

// Capabilities is what the datapath, and the session manager as it is
// configured, can do. What is not said here every datapath can.
type Capabilities struct {
	Buffering   bool // BUFF, NOCP and BARs
	EndMarkers  bool // it sends End Markers when asked to
	Usage       bool // URRs with limits
	Filters     bool // several PDRs to one F-TEID or UE address, with SDF filters
	UEAddresses bool // UE addresses are allocated from pools
}

// features returns the UP function features that are advertised: each of them
// is done by the datapath, the session manager and this package.
// Source: TS 29.244 V18.6.0, 8.2.25.
func (c *Config) features() pfcp.UPFunctionFeatures {
	f := pfcp.UPFeatureFTUP
	return f &^ c.Hide
}
