// Package labcmd has the commands of the laboratory: plumb lab with a command for each method,
// plumb bench and plumb slices. A command checks its flags, measures by package method or that
// of its own, shows how far it is, and prints and writes the result by package report.
package labcmd

import (
	"errors"
	"io"

	"github.com/plumbline-upf/plumbline/internal/plainjson"
	"github.com/plumbline-upf/plumbline/internal/term"
	"github.com/plumbline-upf/plumbline/lab/dut"
)

// Lab is plumb lab: measurements of any UPF, a command for each method.
type Lab struct {
	Share      shareCommand      `cmd:"" help:"Measure what is received at the highest load, or at a given rate."`
	Throughput throughputCommand `cmd:"" help:"Search the highest rates with no more loss than given goals allow."`
	Latency    latencyCommand    `cmd:"" help:"Measure latency and its variation, idle and at parts of the throughput."`
	Loss       lossCommand       `cmd:"" help:"Measure the frame loss rate at rates from the highest down."`
	TCP        tcpCommand        `cmd:"" name:"tcp" help:"Measure one TCP connection of a UE."`
	Campaign   campaignCommand   `cmd:"" help:"Measure UPFs for a minute each, as published comparisons do."`
	BackToBack backToBackCommand `cmd:"" name:"backtoback" help:"Search the longest burst of frames without loss."`
	Soak       soakCommand       `cmd:"" help:"Send a load for a long time and look for loss and drift."`
	Recovery   recoveryCommand   `cmd:"" help:"Measure how long a UPF loses frames after an overload, and after it was killed."`
	Isolation  isolationCommand  `cmd:"" help:"Overload one slice and measure the others."`

	N4 n4Command `cmd:"" name:"n4" help:"Load any UPF with PFCP requests and measure its response times."`

	Correctness correctnessCommand `cmd:"" help:"Measure how far a UPF is from what its rules say: MBR, usage, changes of rules, buffering."`

	Interop interopCommand `cmd:"" help:"Walk UEs of any core through any UPF: ping, TCP, UDP, HTTP, paging, handover, restarts; pass or fail."`

	DUTs    dutsCommand    `cmd:"" name:"duts" help:"List the UPFs that can be measured, which are installed, and what was tried with each."`
	Report  reportCommand  `cmd:"" help:"Show a result of the laboratory again, as a table, a page, CSV, Parquet or histograms."`
	Compare compareCommand `cmd:"" help:"Compare results of the laboratory, and fail if something is worse."`
}

type dutsCommand struct {
	JSON bool `name:"json" help:"Write a JSON array."`
}

// Help is shown by plumb lab duts --help.
func (dutsCommand) Help() string {
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
func (c *dutsCommand) Run(stdout io.Writer) error {
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
