package nfapi

// CodeOf is the error code of a response of P5; ok is false if it has none.
func CodeOf(m Message) (code uint32, ok bool) {
	switch m := m.(type) {
	case *PNFParamResponse:
		return uint32(m.ErrorCode), true
	case *PNFConfigResponse:
		return uint32(m.ErrorCode), true
	case *PNFStartResponse:
		return m.ErrorCode, true
	case *PNFStopResponse:
		return m.ErrorCode, true
	case *ParamResponse:
		return uint32(m.ErrorCode), true
	case *ConfigResponse:
		return uint32(m.ErrorCode), true
	case *StartResponse:
		return m.ErrorCode, true
	case *StartResponse2024:
		return m.ErrorCode, true
	case *StopResponse:
		return uint32(m.ErrorCode), true
	}
	return 0, false
}
