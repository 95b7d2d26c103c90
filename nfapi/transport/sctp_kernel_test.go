package transport

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"strconv"
	"testing"
)

// needKernelSCTP skips where the kernel has no SCTP, which many leave out.
func needKernelSCTP(t *testing.T) {
	t.Helper()
	if !kernelSCTP() {
		t.Skip("the kernel has no SCTP (CONFIG_IP_SCTP)")
	}
	if os.Getuid() != 0 {
		t.Skip("not root: no network namespace")
	}
}

// finish has one end close the connection, and the other one see that.
func finish(t *testing.T, closes, sees *P5) {
	t.Helper()
	if err := closes.Close(); err != nil {
		t.Error(err)
	}
	if _, _, err := sees.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v, want %v", err, io.EOF)
	}
}

// TestKernelSCTP: messages go both ways over the kernel's SCTP, by its name and by auto.
func TestKernelSCTP(t *testing.T) {
	needKernelSCTP(t)
	for _, network := range []string{"sctp", "auto"} {
		for _, address := range []string{"127.0.0.1:50001", "[::1]:50001"} {
			var pnf, vnf *P5
			inNamespace(t, func() error {
				pnf, vnf = pair(t, P5Config{Network: network, Address: address})
				return nil
			})
			conversation(t, vnf, pnf)
			conversation(t, pnf, vnf)
			if pnf.LocalAddr() != vnf.RemoteAddr() || vnf.LocalAddr().Port() != 50001 {
				t.Errorf("got %v to %v and %v to %v", pnf.LocalAddr(), pnf.RemoteAddr(), vnf.LocalAddr(), vnf.RemoteAddr())
			}
			finish(t, vnf, pnf)
		}
	}
}

// TestKernelPeer: the SCTP of this process and the kernel's understand each other, from
// either side. The kernel carries SCTP in UDP, too (since Linux 5.11), so that both can be
// on one host.
func TestKernelPeer(t *testing.T) {
	needKernelSCTP(t)
	const kernelPort, ourPort = 9899, 9900
	type ends struct{ ours, theirs *P5 }
	open := func(t *testing.T, c P5Config, listening source, dial func(context.Context, P5Config) (carrier, error)) (dialled, accepted *P5, err error) {
		t.Cleanup(func() { listening.Close() })
		c.Address = listening.addr().String()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		carried, err := dial(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		dialled = newP5(c, carried)
		t.Cleanup(func() { dialled.Close() })
		if carried, err = listening.accept(); err != nil {
			return nil, nil, err
		}
		accepted = newP5(c, carried)
		t.Cleanup(func() { accepted.Close() })
		return dialled, accepted, nil
	}
	for name, begin := range map[string]func(t *testing.T) (ends, error){
		"we connect": func(t *testing.T) (ends, error) {
			c := P5Config{Address: "127.0.0.1:50001", EncapsulationPort: kernelPort}
			listening, err := listenKernelSCTP(c)
			if err != nil {
				return ends{}, err
			}
			ours, theirs, err := open(t, c, listening, func(ctx context.Context, c P5Config) (carrier, error) {
				return dialSCTP(ctx, c, func(local netip.Addr, _ uint16) (wire, error) { return udpWire(local, ourPort) })
			})
			return ends{ours, theirs}, err
		},
		"the kernel connects": func(t *testing.T) (ends, error) {
			c := P5Config{Address: "127.0.0.1:50001", EncapsulationPort: ourPort}
			listening, err := listenSCTP(c, udpWire)
			if err != nil {
				return ends{}, err
			}
			theirs, ours, err := open(t, c, listening, dialKernelSCTP)
			return ends{ours, theirs}, err
		},
	} {
		for _, weClose := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				var e ends
				inNamespace(t, func() (err error) {
					for key, port := range map[string]int{"udp_port": kernelPort, "encap_port": ourPort} {
						if err := os.WriteFile("/proc/sys/net/sctp/"+key, []byte(strconv.Itoa(port)), 0); err != nil {
							return err
						}
					}
					e, err = begin(t)
					return err
				})
				conversation(t, e.theirs, e.ours)
				conversation(t, e.ours, e.theirs)
				if weClose {
					finish(t, e.ours, e.theirs)
				} else {
					finish(t, e.theirs, e.ours)
				}
			})
		}
	}
}
