package faulty

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// harm does to a frame what is to go wrong with it, and sends what is left.
func (p *plane) harm(frame []byte, sequence uint64) {
	if p.Every == 0 || sequence%p.Every != 0 {
		p.send(frame)
		if p.held != nil {
			p.send(p.held)
			p.held = nil
		}
		return
	}
	const outer = 14 + 20 + 8 // before the GTP-U header
	user := frame[p.user():]
	switch p.Fault {
	case Loss:
		return
	case Duplicate:
		p.send(frame)
	case Reorder:
		p.held = frame
		return
	case TEID:
		frame[outer+7] ^= 1
	case QFI:
		frame[outer+14] ^= 1
	case NoQFI:
		frame = withoutQFI(frame)
	case UE:
		readdress(user, p.uplink)
	case Server:
		readdress(user, !p.uplink)
	case Payload:
		user[len(user)-1] ^= 1
	case Checksum:
		user[10] ^= 0xff
	}
	p.send(frame)
}

// withoutQFI takes the optional fields and the extension header off a GTP-U header, with the
// lengths and the checksum that belong to it. UDP has none.
func withoutQFI(frame []byte) []byte {
	const ip, udp, gtpu, mandatory, optional = 14, 14 + 20, 14 + 20 + 8, 8, 8
	be := binary.BigEndian
	frame[gtpu] &^= 0x07
	for _, at := range []int{ip + 2, udp + 4, gtpu + 2} {
		be.PutUint16(frame[at:], be.Uint16(frame[at:])-optional)
	}
	// The checksum is of the complement: a length that shrinks has it grow, with the carry.
	sum := uint32(be.Uint16(frame[ip+10:])) + optional
	be.PutUint16(frame[ip+10:], uint16(sum&0xffff+sum>>16))
	return append(frame[:gtpu+mandatory], frame[gtpu+mandatory+optional:]...)
}

// readdress gives the user packet another source or destination, with the checksums that
// belong to it: of two words of the address one grows by one and the other shrinks.
func readdress(user []byte, source bool) {
	at := 16
	if source {
		at = 12
	}
	be := binary.BigEndian
	high, low := be.Uint16(user[at:]), be.Uint16(user[at+2:])
	if low == 0 || high == 0xffff {
		return // it would carry
	}
	be.PutUint16(user[at:], high+1)
	be.PutUint16(user[at+2:], low-1)
}

// send lets a frame leave, late if all are.
func (p *plane) send(frame []byte) {
	if p.DelayNS > 0 {
		p.delayed <- late{time.Now().Add(time.Duration(p.DelayNS)), frame}
		return
	}
	p.write(frame)
}

func (p *plane) write(frame []byte) {
	for {
		_, err := unix.Write(p.out, frame)
		if err != unix.EINTR && err != unix.ENOBUFS {
			return
		}
	}
}

// release sends late frames when they are due.
func (p *plane) release() {
	for l := range p.delayed {
		time.Sleep(time.Until(l.at))
		p.write(l.frame)
	}
}
