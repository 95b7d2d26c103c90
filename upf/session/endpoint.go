package session

import "net/netip"

// TrafficEndpoint is what several PDIs have in common.
// Source: TS 29.244 V18.6.0, 7.5.2.7 and 5.2.1A.3.
type TrafficEndpoint struct {
	ID              uint8                   `record:"0"`
	InterfaceType   Optional[InterfaceType] `record:"13"`
	Choose          Choose                  `record:"1.0 1.1 10 1.2 1.3"` // how FTEID came about
	FTEID           FTEID                   `record:"2 3 8"`
	NetworkInstance string                  `record:"5.0"`
	UEAddress       UEAddress               `record:"4 7"`
	ChooseUE        ChooseUE                `record:"1.4 1.5 5.1"` // how UEAddress came about
	QFIs            QFISet                  `record:"6"`
	Framed          []netip.Prefix          `record:"12 shared"` // never changed once it is made
	EthernetSession bool                    `record:"11.0"`      // ETHI
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
