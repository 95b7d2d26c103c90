// Package generator sends traffic through a UPF: an XDP program that the kernel
// runs with live frames (BPF_PROG_RUN), needing no driver of its own and no
// device but one that takes redirected frames.
//
// Uplink frames are G-PDUs of a gNB with a PDU Session Container, downlink
// frames are what a server sends to a UE:
//
//	uplink    Ethernet │ IPv4 │ UDP 2152 │ GTP-U, PSC (QFI) │ IP │ UDP │ stamp │ padding
//	downlink  Ethernet │                                      IP │ UDP │ stamp │ padding
//
// All checksums of the user packet are valid; the outer UDP checksum is 0, which
// over IPv4 means none (RFC 768), unless [Config.OuterChecksum] asks for one.
// Frames may be of several lengths in turn. The [Stamp] says what the frame is and
// when it was due, so that the meter at the far end can tell lost, late,
// doubled and misdelivered frames from the frames alone. A frame that cannot hold
// it, down to 64 octets with FCS, has a [ShortStamp].
//
// One generator may send several streams ([Config.Streams]), each with lengths,
// sessions, QFIs, DSCPs and sequence numbers of its own.
//
// Which session a frame belongs to is decided before the run: the access
// pattern is a list of sessions in the order of their frames, which the program
// walks from the first to the last and begins again. Walking a list costs the
// generator the same for one session and for a million; the caches of the UPF
// see the difference, and not those of the generator.
//
// # Pacing
//
// Intended send times are start + n/rate. The program compares the next one with
// the clock for every frame: if it is not reached the page goes back and
// nothing is sent, if it is passed the frame is sent with the intended time in its stamp,
// so that a generator that was held up counts the wait as latency (no
// coordinated omission). User space sleeps while the next frame is more than
// 200 µs away; otherwise the generator spins and takes a CPU.
//
// Frames may be due several at one moment ([Load.Burst]), and the rate may change
// evenly ([Load.RampTo]): the program then has a table of intervals.
//
// Frames go to the device in batches, since that is how drivers and UPFs work at
// speed. A batch ends after so many runs of the program, whether these made a
// frame or not: see [Config.Batch].
//
// # Replay
//
// A stream may be packets that somebody captured ([Stream.Replay]). Each is sent as it was,
// but for addresses, TEID, checksums and the stamp in its payload, at a rate or by the
// times of the file ([Load.Speed]). bpf/lab/replay.bpf.c copies such a frame whole each time.
//
// # Senders
//
// What is said of the program holds for all senders ([Config.Sender]). [XDPSocket] and
// [Packet] make the same frames in user space by the same schedule. They are slower, and
// are for devices that take no redirected frames.
//
// The package needs CAP_NET_ADMIN and CAP_BPF, and Linux 5.18 or later.
package generator
