package pnf

import (
	"github.com/plumbline-upf/plumbline/nfapi"
	"github.com/plumbline-upf/plumbline/nfapi/cell"
)

// Default capabilities of a PHY.
const (
	defaultBandwidthMHz = 100
	defaultLayers       = 4
)

// release15 is the bit of 3GPP release 15 in nfapi.PNFPHYInfo.
const release15 = 1 << 7

// pnfParam is PNF_PARAM.response: the PHYs that there are, each with one RF.
func (s *session) pnfParam(profile nfapi.Profile) *nfapi.PNFParamResponse {
	if s.state != idle {
		return &nfapi.PNFParamResponse{ErrorCode: uint8(codeInvalidState)}
	}
	general := nfapi.PNFParamGeneral{MaximumNumberPHYs: uint16(len(s.all))}
	var phys nfapi.PNFPHY
	for _, p := range s.all {
		bandwidth, layers := p.config.BandwidthMHz, p.config.Layers
		phys.PHYs = append(phys.PHYs, nfapi.PNFPHYInfo{
			PHYConfigIndex: p.config.ID, RFConfigs: []uint16{0},
			DownlinkChannelBandwidthSupported: bandwidth, UplinkChannelBandwidthSupported: bandwidth,
			NumberOfDLLayersSupported: layers, NumberOfULLayersSupported: layers,
			Maximum3GPPReleaseSupported: release15,
		})
		general.MaximumTotalBandwidth += bandwidth
		general.MaximumTotalNumberDLLayers += layers
		general.MaximumTotalNumberULLayers += layers
	}
	m := &nfapi.PNFParamResponse{}
	for _, v := range []struct {
		tag   uint16
		value nfapi.TLVValue
	}{{nfapi.TagPNFParamGeneral, &general}, {nfapi.TagPNFPHY, &phys}} {
		t, err := profile.EncodeTLV(v.tag, v.value)
		if err != nil { // numbers of PHYs are bounded by the configuration
			s.log.Error("PNF_PARAM.response", "err", err)
			continue
		}
		m.TLVs = append(m.TLVs, t)
	}
	m.NumTLVs = uint8(len(m.TLVs))
	return m
}

// param is PARAM.response: what the PHY can do, and where its P7 is.
func (s *session) param(profile nfapi.Profile, id uint16) *nfapi.ParamResponse {
	if s.state != inOperation {
		return &nfapi.ParamResponse{ErrorCode: uint8(codeInvalidState)}
	}
	p := s.find(id)
	if p == nil {
		return &nfapi.ParamResponse{ErrorCode: uint8(codeInvalidConfig)}
	}
	if p.state != idle {
		return &nfapi.ParamResponse{ErrorCode: uint8(codeInvalidState)}
	}
	m := &nfapi.ParamResponse{}
	for _, c := range capabilities(p.config.Layers) {
		m.TLVs = append(m.TLVs, profile.UintTLV(c.tag, c.width, c.value))
	}
	m.TLVs = append(m.TLVs, cell.PNFEndpointTLVs(profile, p.endpoint(s.local.Addr()))...)
	m.NumTLVs = uint8(len(m.TLVs))
	return m
}

// capability is a number of PARAM.response.
type capability struct {
	tag   uint16
	width int // octets
	value uint32
}

// capabilities are those of a PHY that computes no waveform: nothing limits what MAC may
// ask for. Bits are those of SCF 222.10.02, tables 3-10 to 3-17.
func capabilities(layers uint8) []capability {
	const (
		spacings   = 0x0f // 15, 30, 60, 120 kHz
		bandwidths = 0x1fff
	)
	return []capability{
		{nfapi.TagReleaseCapability, 2, 1}, // release 15
		{nfapi.TagPHYState, 2, 0},          // IDLE
		{nfapi.TagSkipBlankDLConfig, 1, 1}, // a slot needs no DL_TTI.request
		{nfapi.TagSkipBlankULConfig, 1, 1},
		{nfapi.TagCyclicPrefix, 1, 1}, // normal
		{nfapi.TagSupportedSubcarrierSpacingsDL, 2, spacings},
		{nfapi.TagSupportedBandwidthDL, 2, bandwidths},
		{nfapi.TagSupportedSubcarrierSpacingsUL, 1, spacings},
		{nfapi.TagSupportedBandwidthUL, 2, bandwidths},
		{nfapi.TagMaxPDCCHPerSlot, 1, 255},
		{nfapi.TagPUCCHFormats, 1, 0x1f}, // 0 to 4
		{nfapi.TagMaxPucchsPerSlot, 1, 255},
		{nfapi.TagMaxPDSCHTBSPerSlot, 1, 255},
		{nfapi.TagMaxNumberMIMOLayersPDSCH, 1, uint32(layers)},
		{nfapi.TagSupportedMaxModulationOrderDL, 1, 3}, // 256QAM
		{nfapi.TagMaxPduschsTBSPerSlot, 1, 255},
		{nfapi.TagMaxNumberMIMOLayersNonCbPUSCH, 1, uint32(layers)},
		{nfapi.TagSupportedModulationOrderUL, 1, 3},
		{nfapi.TagTimingWindow, 1, cell.TimingWindowDefault},
		{nfapi.TagTimingInfoMode, 1, 3}, // periodic and aperiodic
		{nfapi.TagTimingInfoPeriod, 1, 32},
	}
}
