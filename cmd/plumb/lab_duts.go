package main

import (
	"errors"
	"io"

	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/dut"
)

type labDUTsCommand struct {
	JSON bool `name:"json" help:"Write a JSON array."`
}

// Help is shown by plumb lab duts --help.
func (labDUTsCommand) Help() string {
	return `Lists the names that --dut takes, the UPF of each, the program that was found, and what was tried with that program by whoever wrote the adapter. "all" stands for ours and those that are installed and can run here.

Examples:

    plumb lab duts
    plumb lab duts --json
`
}

// dutRow is a kind as the list has it.
type dutRow struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Program string `json:"program"` // empty: none is started
	Version string `json:"version,omitempty"`
	// Missing says why it cannot run here, empty: it can.
	Missing string `json:"missing,omitempty"`
	Tried   string `json:"tried"`
}

// Run prints the list.
func (c *labDUTsCommand) Run(stdout io.Writer) error {
	var rows []dutRow
	for _, k := range dut.Kinds() {
		rows = append(rows, rowOfDUT(&k))
	}
	if c.JSON {
		return plainjson.Write(stdout, rows)
	}
	t := term.NewTable(stdout, "NAME", "UPF", "HERE", "TRIED")
	for i := range rows {
		here := "yes"
		if rows[i].Missing != "" {
			here = "no"
		}
		t.Row(rows[i].Name, rows[i].Title, here, rows[i].Tried)
	}
	return t.Flush()
}

func rowOfDUT(k *dut.Kind) dutRow {
	if k.Own {
		k.Version = ownVersion
	}
	program, err := k.Find()
	if err == nil && k.Needs != nil {
		err = k.Needs()
	}
	row := dutRow{Name: k.Name, Title: k.Title, Program: program.Path, Version: program.Version, Tried: k.Tested}
	switch {
	case errors.Is(err, dut.ErrNotInstalled):
		row.Missing = "not installed: " + k.Install
	case err != nil:
		row.Missing = err.Error()
	}
	return row
}
