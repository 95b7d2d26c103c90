package dut

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/n4load"
)

// ErrNotInstalled is in the error of [Kind.Find] if there is no program; the error
// says how its project says to install it.
var ErrNotInstalled = errors.New("not installed")

// Kind is a UPF that can be the device under test.
type Kind struct {
	Name    string // for users: "xdp", "eupf", "open5gs-tun"
	Title   string // for reports: "eUPF"
	Program string // the name in PATH; empty: this program, or none if the kind is External
	Path    string // of the program, in place of PATH; empty: look in PATH
	Install string // how its project says to install it, in a sentence or two
	Tested  string // what of this kind was tried with the program itself, and which version: plumb lab duts

	Traits
	Dialect n4load.Dialect

	// Version returns the version of the program at path. nil: it is unknown.
	Version func(path string) (string, error)
	// Needs says what the machine lacks for it, wrapping [errors.ErrUnsupported]. nil: nothing.
	Needs func() error
	// Plan says how to run it at a place; the program may write to directory and is
	// started there. nil: it is External, nothing is started.
	Plan func(p *Place, directory string) (*Plan, error)
}

// Traits are what a test bed must know of a kind.
type Traits struct {
	// Offloads: it takes packets as the kernel has them, so that the outer ends of
	// the links may leave checksums and segmentation to whoever is at the UPF's.
	// Programs that see frames need those offloads off.
	Offloads bool
	// Packets: what leaves it are socket buffers, which a meter of XDP would have
	// copied into frames first, at its expense: the meter is to be at tcx.
	Packets bool
	// SuperPackets: a UE in front of it may send TCP in segments of many packets.
	SuperPackets bool
	// Lossy: it loses frames at the highest rate on one CPU, since it does not slow
	// the generator that far: its throughput must be searched.
	Lossy bool
	// Own: it is this project's, so that Datapath, Session and Drops of its
	// [Instance] are there.
	Own bool
	// External: it is there already, at the place's addresses; nothing is started.
	External bool
	// Mode of XDP, "native" or "generic", if it is configured and known beforehand.
	Mode string
	// IPv4Only: packets of IPv6 do not get through it both ways.
	IPv4Only bool
	// AnyDNN: it takes sessions of any DNN. Others are told that of their dialect, if it
	// has one.
	AnyDNN bool
	// Burst is how much of an MBR it may let pass at once, as time at that rate; 0: no
	// more than what others do.
	Burst time.Duration
	// Unenforced are what frames that leave it are known to lack, or to have wrong: those that
	// are wrong in nothing else count as unenforced, and are not misdelivered.
	Unenforced []meter.Kind
	// Ignores are rules that it accepts and does not enforce, or enforces wrongly,
	// for reports: one sentence each.
	Ignores []string
}

// Plan is how a kind is run.
type Plan struct {
	Args  []string          // after the program's name
	Env   []string          // beside the environment of this process: "NAME=value"
	Files map[string]string // to be written to the directory before the start: contents by name
	Show  string            // the file that is the configuration, for results

	// Mounts: it gets /sys of its namespace and an empty BPF file system of its
	// own, so that nothing that it pins is left, or is found by another.
	Mounts bool
	// Silent: it answers nobody that it is not associated with, so that it is ready
	// as soon as its sockets are there: N4, and GTP-U on N3.
	Silent bool
	// Setup makes what the program needs in the namespace, where it runs. It may be
	// nil, and may be called again after Teardown.
	Setup func() error
	// Teardown removes what Setup and the program have made there, as far as it is
	// still there. It may be nil.
	Teardown func() error
	// Socket is that of the local API of our own UPF, empty of others.
	Socket string
}

// Program is a kind's program as it was found.
type Program struct {
	Path    string
	Version string // in one line, as the program says it; empty: unknown
}

// Find looks for the program.
//
// Errors: [ErrNotInstalled].
func (k *Kind) Find() (Program, error) {
	if k.External {
		return Program{}, nil
	}
	path, err := k.locate()
	if err != nil {
		return Program{}, err
	}
	program := Program{Path: path}
	if k.Version != nil {
		if program.Version, err = k.Version(path); err != nil {
			return program, fmt.Errorf("version of %s: %w", k.Name, err)
		}
	}
	return program, nil
}

func (k *Kind) locate() (string, error) {
	switch {
	case k.Path == "" && k.Program == "":
		return os.Executable()
	case k.Path == "":
		path, err := exec.LookPath(k.Program)
		if err != nil {
			return "", fmt.Errorf("%s: %w: no %s in PATH. %s", k.Name, ErrNotInstalled, k.Program, k.Install)
		}
		return path, nil
	}
	path, err := exec.LookPath(k.Path) // must be there, and executable
	if err != nil {
		return "", fmt.Errorf("%s: %w: %w. %s", k.Name, ErrNotInstalled, err, k.Install)
	}
	return path, nil
}
