package random

// spoil changes a few octets, or cuts the frame, or adds to it.
func (g *generator) spoil(frame []byte) []byte {
	const header = 14
	if len(frame) <= header {
		return append(frame, make([]byte, g.IntN(64))...)
	}
	switch g.IntN(8) {
	case 0, 1:
		return frame[:header+g.IntN(len(frame)-header)]
	case 2:
		return append(frame, make([]byte, 1+g.IntN(64))...)
	case 3:
		return g.noise(frame, header)
	case 4: // another type of frame
		kind := pick(g.dice, uint16(0x8100), 0x0806, 0x86dd, 0x0800, 0x88a8)
		frame[12], frame[13] = byte(kind>>8), byte(kind)
		return frame
	}
	for range 1 + g.IntN(3) {
		at := header + g.IntN(min(len(frame)-header, 120))
		frame[at] = pick(g.dice, frame[at]^1<<g.IntN(8), byte(g.IntN(256)), 0, 0xff)
	}
	return frame
}

// noise makes all octets behind some header anything.
func (g *generator) noise(frame []byte, header int) []byte {
	for at := header + pick(g.dice, 0, 20, 28, 36, 44, 64); at < len(frame); at++ {
		frame[at] = byte(g.IntN(256))
	}
	return frame
}
