// Package api is the contract between the control plane and the datapaths, as
// protobuf messages generated from rules.proto, events.proto and bus.proto, which explain them.
package api

//go:generate sh -c "cd ../.. && protoc --plugin=protoc-gen-go=$(go tool -n protoc-gen-go) --go_out=. --go_opt=module=github.com/plumbline-upf/plumbline datapath/api/rules.proto datapath/api/events.proto datapath/api/bus.proto"
