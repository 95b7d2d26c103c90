package session

import "net/netip"

// TrafficEndpoint is what several PDIs have in common.
// Source: TS 29.244 V18.6.0, 7.5.2.7 and 5.2.1A.3.
type TrafficEndpoint struct {
	ID              uint8
	InterfaceType   Optional[InterfaceType]
	Choose          Choose // how FTEID came about
	FTEID           FTEID
	NetworkInstance string
	UEAddress       UEAddress
	ChooseUE        ChooseUE // how UEAddress came about
	QFIs            QFISet
	Framed          []netip.Prefix // never changed once it is made
	EthernetSession bool           // ETHI
}

// UpdateTrafficEndpoint changes those parts of a Traffic Endpoint that it has.
// Source: TS 29.244 V18.6.0, 7.5.4.13.
type UpdateTrafficEndpoint struct {
	ID              uint8
	InterfaceType   Optional[InterfaceType]
	FTEID           Optional[FTEID]
	Choose          Choose // CH: another F-TEID is to be chosen
	NetworkInstance Optional[string]
	UEAddress       Optional[UEAddress]
	QFIs            Optional[QFISet]
	Framed          Optional[[]netip.Prefix]
}
