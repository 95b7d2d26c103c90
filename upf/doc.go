// Package upf is the UPF as a service: its configuration, the wiring of its
// parts, its metrics and its local API.
package upf
