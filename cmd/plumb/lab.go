package main

type labCommand struct {
	Throughput labThroughputCommand `cmd:"" help:"Search the highest rates with no more loss than given goals allow."`
	Latency    labLatencyCommand    `cmd:"" help:"Measure latency and its variation, idle and at parts of the throughput."`
	Loss       labLossCommand       `cmd:"" help:"Measure the frame loss rate at rates from the highest down."`
	Campaign   labCampaignCommand   `cmd:"" help:"Measure UPFs for a minute each, as published comparisons do."`
	BackToBack labBackToBackCommand `cmd:"" name:"backtoback" help:"Search the longest burst of frames without loss."`
	Soak       labSoakCommand       `cmd:"" help:"Send a load for a long time and look for loss and drift."`
	Recovery   labRecoveryCommand   `cmd:"" help:"Measure how long a UPF loses frames after an overload, and after it was killed."`
	Isolation  labIsolationCommand  `cmd:"" help:"Overload one slice and measure the others."`

	N4 labN4Command `cmd:"" name:"n4" help:"Load any UPF with PFCP requests and measure its response times."`

	Correctness labCorrectnessCommand `cmd:"" help:"Measure how far a UPF is from what its rules say: MBR, usage, changes of rules, buffering."`

	Interop labInteropCommand `cmd:"" help:"Walk UEs of any core through any UPF: ping, TCP, UDP, HTTP, paging, handover, restarts; pass or fail."`

	DUTs    labDUTsCommand    `cmd:"" name:"duts" help:"List the UPFs that can be measured, which are installed, and what was tried with each."`
	Report  labReportCommand  `cmd:"" help:"Show a result of the laboratory again, as a table, a page, CSV, Parquet or histograms."`
	Compare labCompareCommand `cmd:"" help:"Compare results of the laboratory, and fail if something is worse."`
}
