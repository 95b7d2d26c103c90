package pfcp

// Rules of which only the ID is decoded: those that are removed or queried, and MARs, which this UP
// function does not support and must reject by their ID. Each is a grouped IE whose only mandatory
// IE is the ID.

var (
	removePDR = onlyID("Remove PDR", "7.5.4.6", IEPDRID, u16[uint16]())
	removeFAR = onlyID("Remove FAR", "7.5.4.7", IEFARID, u32[uint32]())
	removeQER = onlyID("Remove QER", "7.5.4.9", IEQERID, u32[uint32]())
	removeURR = onlyID("Remove URR", "7.5.4.8", IEURRID, u32[uint32]())
	removeBAR = onlyID("Remove BAR", "7.5.4.12", IEBARID, u8[uint8]())
	removeTEP = onlyID("Remove Traffic Endpoint", "7.5.4.14", IETrafficEndpointID, u8[uint8]())
	removeMAR = onlyID("Remove MAR", "7.5.4.15", IEMARID, u16[uint16]())

	createMAR = onlyID("Create MAR", "7.5.2.8", IEMARID, u16[uint16]())

	updateMAR = onlyID("Update MAR", "7.5.4.16", IEMARID, u16[uint16]())

	queryURR = onlyID("Query URR", "7.5.4.10", IEURRID, u32[uint32]())
)

// onlyID is a grouped IE that is decoded to its ID.
func onlyID[V any](name, clause string, ie IEType, c codec[V]) *container[V] {
	return newContainer(container[V]{
		name: name, clause: clause,
		reset:   func(v *V) { var zero V; *v = zero },
		members: []member[V]{one(ie, func(v *V) *V { return v }, c)},
	})
}
