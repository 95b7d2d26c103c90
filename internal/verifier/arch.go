package verifier

import "runtime"

// WeakOrder tells whether the CPUs may do loads and stores in another order than that of
// the program, which programs are told before they are loaded: all but x86 may.
func WeakOrder() bool { return runtime.GOARCH != "amd64" && runtime.GOARCH != "386" }
