package generator

// sender makes frames and hands them to the device. The schedule is in its run: see
// bpf/lab_schedule.h.
type sender interface {
	// run returns the run as it is now.
	run() (generatorRun, error)

	// begin sets the run, and the intervals of its ramp if it has one.
	begin(run generatorRun, ramp *[maxSegments]uint64) error

	// sequences returns the number of the next frame of each stream.
	sequences() ([]uint64, error)

	// send looks so many times whether a frame is due, and sends it if so. The device
	// gets what there is after each batch, and at the end.
	send(times, batch uint32) error

	close() error
}

// Sequences returns the number of the next frame of each stream.
func (g *Generator) Sequences() ([]uint64, error) { return g.sender.sequences() }
