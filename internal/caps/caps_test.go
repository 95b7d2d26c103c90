package caps

import (
	"os"
	"testing"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// TestEffective wants what /proc says.
func TestEffective(t *testing.T) {
	p, err := procfs.NewProc(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	status, err := p.NewStatus()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Effective(); err != nil || uint64(got) != status.CapEff {
		t.Errorf("got %#x, %v; want %#x", got, err, status.CapEff)
	}
}

func TestHas(t *testing.T) {
	s := Set(0x000000c000003000)
	for capability, want := range map[int]bool{
		unix.CAP_NET_ADMIN: true, unix.CAP_NET_RAW: true, unix.CAP_BPF: true, unix.CAP_PERFMON: true,
		unix.CAP_SYS_ADMIN: false, unix.CAP_CHOWN: false,
	} {
		if s.Has(capability) != want {
			t.Errorf("%d: got %v", capability, !want)
		}
	}
}
