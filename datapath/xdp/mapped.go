package xdp

import (
	"fmt"
	"os"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// mapped is the memory of an array map as a slice. T has the layout of the
// map's value and a size that is a multiple of 8.
type mapped[T any] struct {
	memory []byte
	slots  []T
}

func mapMemory[T any](m *ebpf.Map) (mapped[T], error) {
	var t T
	if uintptr(m.ValueSize()) != unsafe.Sizeof(t) || m.ValueSize()%8 != 0 {
		return mapped[T]{}, fmt.Errorf("xdp: %v: value of %d octets for a type of %d", m, m.ValueSize(), unsafe.Sizeof(t))
	}
	page := os.Getpagesize()
	size := (int(m.MaxEntries())*int(m.ValueSize()) + page - 1) / page * page
	memory, err := unix.Mmap(m.FD(), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return mapped[T]{}, fmt.Errorf("xdp: map %d octets of %v: %w", size, m, err)
	}
	return mapped[T]{memory, unsafe.Slice((*T)(unsafe.Pointer(&memory[0])), m.MaxEntries())}, nil
}

func (m *mapped[T]) unmap() error {
	if m.memory == nil {
		return nil
	}
	memory := m.memory
	m.memory, m.slots = nil, nil
	return unix.Munmap(memory)
}
