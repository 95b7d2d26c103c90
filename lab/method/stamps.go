package method

import (
	"errors"
	"fmt"

	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/timestamp"
	"github.com/plumbline-upf/plumbline/lab/topology"
)

// Stamps is what stamps the frames of a run.
type Stamps struct {
	Source timestamp.Source
	Note   string // for the result: what, or why nothing; empty: nobody asked
}

// AutoStamps are hardware time stamps, if both devices have them.
const AutoStamps = "auto"

// FindStamps says what stamps frames, if a source or [AutoStamps] is asked for and frames are sent by sender, nil: by whichever can. Where an external UPF is its devices are
// asked, in the network namespace of the calling thread.
//
// Errors: [errors.ErrUnsupported] is wrapped where there is no such source, unless it
// is [AutoStamps] that is asked for.
func FindStamps(word string, external *topology.External, sender *generator.Sender) (Stamps, error) {
	auto, source := word == AutoStamps, timestamp.Hardware
	if !auto {
		var err error
		if source, err = timestamp.ParseSource(word); err != nil {
			return Stamps{}, err
		}
	}
	if source == timestamp.None {
		return Stamps{}, nil
	}
	why, err := missing(source, external)
	if err != nil {
		return Stamps{}, err
	}
	if why == "" && sender != nil && *sender != generator.Packet {
		why = fmt.Sprintf("frames that %v sends have none; those of %v do", *sender, generator.Packet)
	}
	switch {
	case why == "":
		return Stamps{source, source.String() + by[source]}, nil
	case auto:
		return Stamps{Note: "none: " + why}, nil
	}
	return Stamps{}, fmt.Errorf("%v time stamps: %s: %w", source, why, errors.ErrUnsupported)
}

// by says what stamps.
var by = map[timestamp.Source]string{
	timestamp.Software: ": of the kernel, when a frame goes to the driver and when it comes from there",
	timestamp.Hardware: ": of the devices, by one PTP hardware clock",
}

// missing says why a source cannot be had, empty: it can.
func missing(source timestamp.Source, external *topology.External) (string, error) {
	if external == nil {
		if source == timestamp.Hardware {
			return "devices of a test bed are virtual and have none", nil
		}
		return "", nil
	}
	n3, err := timestamp.Ask(external.N3)
	if err != nil {
		return "", err
	}
	n6, err := timestamp.Ask(external.N6)
	if err != nil {
		return "", err
	}
	return timestamp.Missing(source, n3, n6), nil
}
