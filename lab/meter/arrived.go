package meter

import "fmt"

// Arrived says which of the last frames of a stream have arrived, by their sequence
// numbers: about 65,000 of them.
type Arrived struct{ window meterWindow }

// Arrived returns what has arrived of a stream lately. While frames arrive it may miss
// the last ones.
func (m *Meter) Arrived(stream uint32) (*Arrived, error) {
	a := &Arrived{}
	if err := m.objects.WindowByStream.Lookup(stream, &a.window); err != nil {
		return nil, fmt.Errorf("meter: window of stream %d: %w", stream, err)
	}
	return a, nil
}

// Has reports whether the frame has arrived. It is not known of frames that are too far
// behind the last one.
func (a *Arrived) Has(sequence uint64) (arrived, known bool) {
	block := sequence >> 5
	blocks := uint64(len(a.window.Blocks))
	word, round := a.window.Blocks[block%blocks], uint32(block/blocks)
	switch have := uint32(word >> 32); {
	case have > round:
		return false, false
	case have < round: // none of its block has come
		return false, true
	}
	return word>>(sequence&31)&1 == 1, true
}
