// Package dut runs a UPF as the device under test: ours, and others'.
//
// A [Kind] is a UPF that the laboratory knows: how to find its program, which
// files it is configured by, which dialect of PFCP it needs, what was tried with
// it. A [Place] is where it is put: a network namespace with devices and
// addresses. Starting a kind at a place makes an [Instance]:
//
//	Select("xdp,eupf=/opt/eupf") ─► []Kind
//	Kind.Find  ─► program and version, or ErrNotInstalled
//	Start      ─► files ─► devices ─► process in the namespace ─► N4 is ready
//	Instance   ─► Template for its sessions, CPU, memory, log, Park and Resume
//	Stop       ─► SIGTERM ─► (grace) ─► SIGKILL ─► devices and files removed
//
// Processes are driven over N4 and watched through /proc, and ours through its
// local API as well. All get SIGKILL when their parent dies, and have a process
// group of their own, so that an interrupt of the parent does not reach them
// before Stop does.
//
// Programs of other projects are run from where the user has them. The package
// holds nothing of them.
package dut
