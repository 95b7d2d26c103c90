package dut

// others are the kinds that are not ours.
func others() []Kind { return []Kind{eupf, open5gsTUN, open5gsTAP, free5gc, upgVPP, oai, external} }

// external is any UPF that runs already, at the addresses of the place.
var external = Kind{
	Name: "external", Title: "external UPF",
	Tested: "With a UPF of this project that the lab did not start.",
	Traits: Traits{External: true, Lossy: true},
}
