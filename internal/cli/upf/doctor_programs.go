package upfcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/plumbline-upf/plumbline/datapath/afxdp"
	"github.com/plumbline-upf/plumbline/datapath/xdp"
	"github.com/plumbline-upf/plumbline/internal/cli"
	"github.com/plumbline-upf/plumbline/internal/doctor"
	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/verifier"
	"github.com/plumbline-upf/plumbline/lab/generator"
	"github.com/plumbline-upf/plumbline/lab/meter"
	"github.com/plumbline-upf/plumbline/lab/topology"
	"github.com/plumbline-upf/plumbline/p4/port"
	"github.com/plumbline-upf/plumbline/probe"
	"github.com/plumbline-upf/plumbline/probe/n4"
	"github.com/plumbline-upf/plumbline/ran/gnb"
)

// Objects are all eBPF objects of this program.
func Objects() []verifier.Object {
	var all []verifier.Object
	for _, of := range []func() []verifier.Object{
		xdp.Objects, afxdp.Objects, probe.Objects, n4.Objects, gnb.Objects, topology.Objects, generator.Objects, meter.Objects, port.Objects,
	} {
		all = append(all, of()...)
	}
	return all
}

// programsSchema names the form of a programReport in JSON.
const programsSchema = "plumbline.programs/1"

type programReport struct {
	Schema   string             `json:"schema"`
	Kernel   string             `json:"kernel"`
	Programs []verifier.Program `json:"programs"`
}

// runPrograms loads each eBPF program and says what became of it.
func (c *Doctor) runPrograms(stdout io.Writer) error {
	if missing := doctor.MissingCapabilities(); len(missing) > 0 {
		return fmt.Errorf("not effective: %s: run as root, or with these capabilities: %w", strings.Join(missing, ", "), errors.ErrUnsupported)
	}
	if err := cli.MakeDirectory(c.Logs); err != nil {
		return err
	}
	r := programReport{Schema: programsSchema, Kernel: verifier.KernelRelease()}
	refused, errs := 0, []error{}
	for _, o := range Objects() {
		tried, err := o.Try()
		if err != nil {
			return err
		}
		for _, p := range tried {
			if p.Refused != "" {
				refused++
				errs = append(errs, c.keepLog(p))
			}
		}
		r.Programs = append(r.Programs, tried...)
	}
	if err := errors.Join(append(errs, r.write(stdout, c.JSON))...); err != nil {
		return err
	}
	if refused > 0 {
		return fmt.Errorf("Linux %s refuses %d of %d programs: %w", r.Kernel, refused, len(r.Programs), errors.ErrUnsupported)
	}
	return nil
}

// keepLog writes what the verifier said of a program to a file of its own.
func (c *Doctor) keepLog(p verifier.Program) error {
	if c.Logs == "" {
		return nil
	}
	text := strings.Join(append(p.Log, p.Refused), "\n") + "\n"
	return os.WriteFile(filepath.Join(c.Logs, p.Object+"."+p.Name+".log"), []byte(text), 0o644)
}

func (r *programReport) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return plainjson.Write(w, r)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "OBJECT\tPROGRAM\tINSTRUCTIONS\tSTACK\n")
	for _, p := range r.Programs {
		if p.Refused != "" {
			fmt.Fprintf(t, "%s\t%s\trefused\t%s\n", p.Object, p.Name, p.Refused)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\n", p.Object, p.Name, p.Instructions, p.Stack)
	}
	return t.Flush()
}
