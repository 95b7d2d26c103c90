package rematch

// Overheads that are looked for: from IPv4, UDP and GTP-U without Ethernet, up.
const (
	minOverhead = 36
	maxOverhead = 255
)

// overhead learns from the beginning of a file by how many octets a frame that enters is
// longer than the packet that leaves: the difference that the most exits have to one of
// the entries before them. 0 if there is none that nine of ten exits have.
func overhead(events []sliced, window uint64) int {
	const back = 32 // entries that an exit is compared with
	var explained [maxOverhead + 1]int
	exits := 0
	recent := map[*series][]event{}
	for _, e := range events {
		entries := recent[e.series]
		if !e.exit {
			if len(entries) == back {
				entries = entries[1:]
			}
			recent[e.series] = append(entries, e.event)
			continue
		}
		differences, any := [maxOverhead + 1]bool{}, false
		for _, entry := range entries {
			d := int(entry.length) - int(e.length)
			if d < minOverhead || d > maxOverhead || entry.ns > e.ns || e.ns-entry.ns > window || differences[d] {
				continue
			}
			differences[d], any = true, true
			explained[d]++
		}
		if any {
			exits++
		}
	}
	best := minOverhead
	for d, n := range explained {
		if n > explained[best] {
			best = d
		}
	}
	if exits == 0 || explained[best]*10 < exits*9 {
		return 0
	}
	return best
}
