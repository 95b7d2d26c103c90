package generator

import "golang.org/x/sys/unix"

// LastCPU returns the highest CPU that this process may run on, for
// [Load.CPU]: interrupts mostly go to the lowest. -1 if the kernel does not say.
func LastCPU() int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return -1
	}
	const maxCPU = 1023 // of a CPUSet
	for cpu := maxCPU; cpu >= 0; cpu-- {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	return -1
}
