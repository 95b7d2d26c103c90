// Command record keeps p4/compiled and its record consistent with the P4 sources. It needs no P4 compiler.
//
//	record write PROGRAM VERSION DIRECTORY    take a compiler's outputs from DIRECTORY, and record them (scripts/p4)
//	record check                              do sources, outputs and options agree with the record? (make generate-check)
//
// It runs in the root of the repository.
//
// The record, p4/compiled/record.txt, has a paragraph for each line of p4/fronts.txt:
//
//	program upf_v1model
//	compiler Version 1.2.5.16 (...)                 as the compiler reports it
//	command p4c-bm2-ss --std p4-16 ...              as in p4/fronts.txt
//	sources SHA256 detect.p4 drop.p4 ...
//	output SHA256 upf_v1model.json                  one line for each
//
// An output that is a directory is the assembled output of a compiler for Tofino; it is recorded as
// a text of the units that it uses (resources.go).
//
// The sources are PROGRAM.p4 and all that it includes with "", also by way of others, sorted by
// name: files included with <> belong to the compiler. Their SHA-256 is that of the output of
// sha256sum, so that it can be reproduced by hand:
//
//	cd p4 && sha256sum detect.p4 drop.p4 ... | sha256sum
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	err := errors.New("usage: record write PROGRAM VERSION DIRECTORY | record check")
	switch args := os.Args[1:]; {
	case len(args) == 4 && args[0] == "write":
		err = write("p4", args[1], args[2], args[3])
	case len(args) == 1 && args[0] == "check":
		err = check("p4")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
