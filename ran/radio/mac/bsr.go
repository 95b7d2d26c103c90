package mac

import "slices"

// shortLevels and longLevels are the upper ends of what an index of a buffer status
// report means, in octets; the last one has no upper end. Source: TS 38.321 V18, tables
// 6.1.3.1-1 and 6.1.3.1-2.
var (
	shortLevels = []int{
		0, 10, 14, 20, 28, 38, 53, 74, 102, 142, 198, 276, 384, 535, 745, 1038, 1446, 2014, 2806, 3909, 5446, 7587,
		10570, 14726, 20516, 28581, 39818, 55474, 77284, 107669, 150000,
	}
	longLevels = []int{
		0, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 22, 23, 25, 26, 28, 30, 32, 34, 36, 38, 40, 43, 46, 49, 52, 55,
		59, 62, 66, 71, 75, 80, 85, 91, 97, 103, 110, 117, 124, 132, 141, 150, 160, 170, 181, 193, 205, 218, 233, 248,
		264, 281, 299, 318, 339, 361, 384, 409, 436, 464, 494, 526, 560, 597, 635, 677, 720, 767, 817, 870, 926, 987,
		1051, 1119, 1191, 1269, 1351, 1439, 1532, 1631, 1737, 1850, 1970, 2098, 2234, 2379, 2533, 2698, 2873, 3059, 3258,
		3469, 3694, 3934, 4189, 4461, 4751, 5059, 5387, 5737, 6109, 6506, 6928, 7378, 7857, 8367, 8910, 9488, 10104,
		10760, 11458, 12202, 12994, 13838, 14736, 15692, 16711, 17795, 18951, 20181, 21491, 22885, 24371, 25953, 27638,
		29431, 31342, 33376, 35543, 37850, 40307, 42923, 45709, 48676, 51836, 55200, 58784, 62599, 66663, 70990, 75598,
		80505, 85730, 91295, 97221, 103532, 110252, 117409, 125030, 133146, 141789, 150992, 160793, 171231, 182345,
		194182, 206786, 220209, 234503, 249725, 265935, 283197, 301579, 321155, 342002, 364202, 387842, 413018, 439827,
		468377, 498780, 531156, 565634, 602350, 641449, 683087, 727427, 774645, 824928, 878475, 935498, 996222, 1060888,
		1129752, 1203085, 1281179, 1364342, 1452903, 1547213, 1647644, 1754595, 1868488, 1989774, 2118933, 2256475,
		2402946, 2558924, 2725027, 2901912, 3090279, 3290873, 3504487, 3731968, 3974215, 4232186, 4506902, 4799451,
		5110989, 5442750, 5796046, 6172275, 6572925, 6999582, 7453933, 7937777, 8453028, 9001725, 9586039, 10208280,
		10870913, 11576557, 12328006, 13128233, 13980403, 14887889, 15854280, 16883401, 17979324, 19146385, 20389201,
		21712690, 23122088, 24622972, 26221280, 27923336, 29735875, 31666069, 33721553, 35910462, 38241455, 40723756,
		43367187, 46182206, 49179951, 52372284, 55771835, 59392055, 63247269, 67352729, 71724679, 76380419, 81338368,
	}
)

// level is the index of the smallest level that octets fit into.
func level(levels []int, octets int) byte {
	i, _ := slices.BinarySearch(levels, octets)
	return byte(i)
}

// octets is what an index means: its upper end; twice the last one for the index that
// has none. ok is false if the index is reserved.
func octets(levels []int, index byte) (n int, ok bool) {
	switch i := int(index); {
	case i < len(levels):
		return levels[i], true
	case i == len(levels):
		return 2 * levels[len(levels)-1], true
	}
	return 0, false
}

// BSR is a buffer status report: how many octets wait for a grant, by logical channel
// group. Values are upper ends of the levels that a report can say.
type BSR struct {
	Groups uint8  // a bit for each logical channel group that is reported
	Octets [8]int // 0 for those that are not
}

// Sizes of reports with their subheaders, in octets, for one logical channel group.
const (
	ShortBSRSize     = 2
	LongBSRSize      = 4 // with data
	LongBSREmptySize = 3 // without
)

// PutShortBSR writes a sub-PDU with the short report of one group, 0 to 7, at the start
// of b: [ShortBSRSize] octets. Source: TS 38.321 V18, 6.1.3.1.
func PutShortBSR(b []byte, group uint8, octets int) int {
	b[0] = LCIDShortBSR
	b[1] = group<<5 | level(shortLevels, octets)
	return ShortBSRSize
}

// PutLongBSR writes a sub-PDU with the long report of one group, 0 to 7, at the start of
// b: [LongBSRSize] octets, or [LongBSREmptySize] if nothing waits.
func PutLongBSR(b []byte, group uint8, octets int) int {
	b[0] = LCIDLongBSR
	if octets == 0 {
		b[1], b[2] = 1, 0
		return LongBSREmptySize
	}
	b[1], b[2], b[3] = 2, 1<<group, level(longLevels, octets)
	return LongBSRSize
}

// ParseBSR reads the report of a sub-PDU. ok is false if it is not a report, or if a
// value is reserved or missing.
func ParseBSR(s SubPDU) (r BSR, ok bool) {
	switch s.LCID {
	case LCIDShortBSR, LCIDShortTruncatedBSR:
		if len(s.Payload) != 1 { // of a downlink sub-PDU, where these ids mean something else
			return BSR{}, false
		}
		group := s.Payload[0] >> 5
		n, known := octets(shortLevels, s.Payload[0]&0x1f)
		r.Groups, r.Octets[group] = 1<<group, n
		return r, known
	case LCIDLongBSR, LCIDLongTruncatedBSR:
		return parseLong(s)
	}
	return BSR{}, false
}

// parseLong reads the sizes behind a bitmap of groups. A truncated report may have
// fewer sizes than bits: of those without one nothing is known but that they have data.
func parseLong(s SubPDU) (r BSR, ok bool) {
	if len(s.Payload) == 0 {
		return BSR{}, false
	}
	sizes := s.Payload[1:]
	for group := range uint8(8) {
		if s.Payload[0]>>group&1 == 0 {
			continue
		}
		if len(sizes) == 0 {
			return r, s.LCID == LCIDLongTruncatedBSR
		}
		n, known := octets(longLevels, sizes[0])
		if !known {
			return BSR{}, false
		}
		r.Groups |= 1 << group
		r.Octets[group] = n
		sizes = sizes[1:]
	}
	return r, len(sizes) == 0
}
