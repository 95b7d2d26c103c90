package vector

// makeRoom moves a packet in front of which there are fewer octets than want to a buffer
// of the worker's own, with room for all headers. Datagrams that the kernel has put
// together stand one behind the other, so most of them have none.
func (w *Worker) makeRoom(k *work, want int) {
	at, end := int(k.at), int(k.at+k.size)
	if at >= want {
		return
	}
	need := Headroom + want + end - at
	if len(w.room)+need > cap(w.room) { // packets that are in the old one go on having it
		w.room = make([]byte, 0, max(2*cap(w.room), need, minRoom))
	}
	b := w.room[len(w.room) : len(w.room)+need : len(w.room)+need]
	w.room = w.room[:len(w.room)+need]
	copy(b[Headroom+want:], k.packet.Buf[at:end])
	k.packet.Buf = b
	k.at += int32(Headroom + want - at)
}

// minRoom is how many octets are taken at a time at least.
const minRoom = 1 << 16
