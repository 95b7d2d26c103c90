package system

import (
	"fmt"

	"github.com/plumbline-upf/plumbline/lab/host"
)

// CPUs says what runs where.
type CPUs struct {
	// Senders has the CPU of each sender of a trial; those beyond run anywhere. The
	// softirq of what a sender sends is where it is.
	Senders []int
	// UPF are those that the UPF's processes and the CP function may run on; empty: any.
	UPF []int
}

// ShareCPUs gives each sender the highest CPUs that there are, one after the other,
// and the UPF all others. Where there are too few for that they share them.
func ShareCPUs(senders int) (CPUs, error) {
	all, err := host.CPUs()
	if err != nil {
		return CPUs{}, err
	}
	return shareCPUs(all, senders), nil
}

func shareCPUs(all []int, senders int) CPUs {
	var c CPUs
	for i := range senders {
		c.Senders = append(c.Senders, all[max(0, len(all)-1-i)])
	}
	c.UPF = all[:max(1, len(all)-senders)]
	return c
}

// String says it in words, and what it means for what is measured.
func (c CPUs) String() string {
	return fmt.Sprintf("The senders have CPU %v, and with it the softirq of what they send: there XDP and TC programs and the meter "+
		"run, which slow the sender, so that they lose nothing. The UPF's processes have CPUs %v; they are offered what they cannot take.",
		c.Senders, c.UPF)
}

// sender is the CPU of sender i, -1 for any.
func (c CPUs) sender(i int) int {
	if i < len(c.Senders) {
		return c.Senders[i]
	}
	return -1
}
