package topology

import (
	"errors"
	"io/fs"

	"github.com/prometheus/procfs"
)

// UDPSockets returns the UDP sockets of IPv4, and of IPv6 if there is such, in the network
// namespace of the calling thread.
func UDPSockets() (procfs.NetIPSocket, error) {
	return sockets(func(proc procfs.FS) (four, six procfs.NetIPSocket, err4, err6 error) {
		udp, err4 := proc.NetUDP()
		udp6, err6 := proc.NetUDP6()
		return procfs.NetIPSocket(udp), procfs.NetIPSocket(udp6), err4, err6
	})
}

// TCPSockets is [UDPSockets] for TCP.
func TCPSockets() (procfs.NetIPSocket, error) {
	return sockets(func(proc procfs.FS) (four, six procfs.NetIPSocket, err4, err6 error) {
		tcp, err4 := proc.NetTCP()
		tcp6, err6 := proc.NetTCP6()
		return procfs.NetIPSocket(tcp), procfs.NetIPSocket(tcp6), err4, err6
	})
}

func sockets(read func(procfs.FS) (four, six procfs.NetIPSocket, err4, err6 error)) (procfs.NetIPSocket, error) {
	proc, err := procfs.NewFS("/proc/thread-self") // /proc/net is that of the process's first thread
	if err != nil {
		return nil, err
	}
	four, six, err, err6 := read(proc)
	if !errors.Is(err6, fs.ErrNotExist) { // a kernel without IPv6
		err = errors.Join(err, err6)
	}
	return append(four, six...), err
}
