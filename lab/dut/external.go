package dut

// others are the kinds that are not ours.
func others() []Kind { return []Kind{eupf, open5gsTUN, open5gsTAP, free5gc, upgVPP, oai, external} }

// external is any UPF that runs already, at the addresses of the place.
// It may be any, so what is said of it allows for what the others do.
var external = Kind{
	Name: "external", Title: "external UPF",
	Tested: "With a UPF of this project that the lab did not start.",
	Traits: Traits{External: true, Lossy: true, Burst: gtp5gBurst},
}
