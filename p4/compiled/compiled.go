// Package compiled has the P4 programs of the directory above as a compiler has made them, so that nothing else needs one:
// for the architecture v1model, BMv2 JSON and P4Info.
//
// They are committed as generated code is. make p4 compiles them again where the compilers of p4/fronts.txt are on the PATH;
// record.txt says by which they were made, and of which sources (its form: p4/internal/record), and make generate-check
// fails where the sources have changed since. The JSON is what p4c-bm2-ss writes without source_info, in fewer lines.
package compiled

import _ "embed" // the outputs

var (
	//go:embed upf_v1model.json
	v1modelJSON string
	//go:embed upf_v1model.p4info.txtpb
	v1modelP4Info string
)

// V1Model is the UPF of upf_v1model.p4: BMv2 JSON, and P4Info in the text format of protobuf. Both are the caller's.
func V1Model() (program, p4info []byte) { return []byte(v1modelJSON), []byte(v1modelP4Info) }
