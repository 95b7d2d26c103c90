package split

// Figures of OpenAirInterface's split, 2024, on the radio of [OAIRadio]: rfsim, so that
// its slots were not those of the air, and pings of a UE to the core network.
const (
	publishedSource = "OpenAirInterface's nFAPI split with rfsim, as measured in April 2024 with 40 MHz, 106 PRB; its slots were not paced to the air's 0.5 ms"

	publishedPingMS                           = 17.3
	publishedPingFirstMS, publishedPingLastMS = 100, 200 // before its causes were found
	publishedDownlinkLow, publishedDownlink   = 85, 117  // Mbit/s
	publishedUplinkLow, publishedUplink       = 10, 20   // Mbit/s, by its documentation of 2025
)
