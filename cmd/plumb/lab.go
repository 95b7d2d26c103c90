package main

type labCommand struct {
	N4 labN4Command `cmd:"" name:"n4" help:"Load any UPF with PFCP requests and measure its response times."`

	Correctness labCorrectnessCommand `cmd:"" help:"Measure how far a UPF is from what its rules say: MBR, usage, changes of rules, buffering."`

	Report labReportCommand `cmd:"" help:"Show a result of the laboratory again, as a table, a page, CSV, Parquet or histograms."`
}
