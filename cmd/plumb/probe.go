package main

type probeCommand struct {
	Rematch probeRematchCommand `cmd:"" help:"Judge a trace whose events do not say which packet they are about: how ambiguous are published data?"`
}
