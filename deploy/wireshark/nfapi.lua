-- Dissector of 5G nFAPI (P5 over TCP and SCTP, P7 over UDP) and FAPI as OpenAirInterface and
-- Aerial send them, for Wireshark 4.0 and later.
--
-- Made by `go generate ./nfapi` from the layouts in nfapi/internal/gen: do not edit.
-- The header's length field says which generation it is, and that the profile:
-- oai-2025, oai-2024 or, little endian with a FAPI header, aerial.
--
--   tshark -X lua_script:nfapi.lua -r file.pcap -Y nfapi5g

local proto = Proto("nfapi5g", "5G nFAPI")
local structs, unions, messages, tags = {}, {}, {}, {}

structs["PNFParamRequest"] = {
}
structs["PNFParamResponse"] = {
  { n = "error_code", g = "ErrorCode", k = "u8" },
  { n = "num_tlvs", g = "NumTLVs", k = "u8" },
  { n = "tlvs", g = "TLVs", k = "tlvs" },
}
structs["PNFConfigRequest"] = {
  { n = "num_tlvs", g = "NumTLVs", k = "u8" },
  { n = "tlvs", g = "TLVs", k = "tlvs" },
}
structs["PNFConfigResponse"] = {
  { n = "error_code", g = "ErrorCode", k = "u8" },
}
structs["PNFStartRequest"] = {
}
structs["PNFStartResponse"] = {
  { n = "error_code", g = "ErrorCode", k = "u32" },
}
structs["PNFStopRequest"] = {
}
structs["PNFStopResponse"] = {
  { n = "error_code", g = "ErrorCode", k = "u32" },
}
structs["PNFReadyIndication"] = {
}
structs["ParamRequest"] = {
}
structs["ParamResponse"] = {
  { n = "error_code", g = "ErrorCode", k = "u8" },
  { n = "num_tlv", g = "NumTLVs", k = "u8" },
  { n = "tlvs", g = "TLVs", k = "tlvs" },
}
structs["ConfigRequest"] = {
  { n = "num_tlv", g = "NumTLVs", k = "u8" },
  { n = "tlvs", g = "TLVs", k = "tlvs" },
}
structs["ConfigResponse"] = {
  { n = "error_code", g = "ErrorCode", k = "u8" },
  { n = "num_invalid", g = "NumInvalid", k = "u8" },
  { n = "num_invalid_idle", g = "NumInvalidIdle", k = "u8" },
  { n = "num_invalid_running", g = "NumInvalidRunning", k = "u8" },
  { n = "num_missing", g = "NumMissing", k = "u8" },
  { n = "tlvs", g = "TLVs", k = "tlvs" },
}
structs["StartRequest"] = {
}
structs["StartResponse"] = {
  { n = "error_code", g = "ErrorCode", k = { "u8", "u32", "u8" } },
}
structs["StartResponse2024"] = {
  { n = "error_code", g = "ErrorCode", k = "u32" },
}
structs["StopRequest"] = {
}
structs["StopIndication"] = {
}
structs["StopResponse"] = {
  { n = "error_code", g = "ErrorCode", k = "u8" },
}
structs["ErrorIndication"] = {
  { n = "sfn", g = "SFN", k = "u16" },
  { n = "slot", g = "Slot", k = "u16" },
  { n = "message_id", g = "Message", k = "u8" },
  { n = "error_code", g = "ErrorCode", k = "u8" },
}
structs["PNFParamGeneral"] = {
  { n = "nfapi_sync_mode", g = "SyncMode", k = "u8" },
  { n = "location_mode", g = "LocationMode", k = "u8" },
  { n = "location_coordinates_length", g = "-", k = "count16:LocationCoordinates" },
  { n = "location_coordinates", g = "LocationCoordinates", k = "string:n(-)" },
  { n = "dl_config_timing", g = "DLConfigTiming", k = "u32" },
  { n = "tx_timing", g = "TXTiming", k = "u32" },
  { n = "ul_config_timing", g = "ULConfigTiming", k = "u32" },
  { n = "hi_dci0_timing", g = "HIDCI0Timing", k = "u32" },
  { n = "maximum_number_phys", g = "MaximumNumberPHYs", k = "u16" },
  { n = "maximum_total_bandwidth", g = "MaximumTotalBandwidth", k = "u16" },
  { n = "maximum_total_number_dl_layers", g = "MaximumTotalNumberDLLayers", k = "u8" },
  { n = "maximum_total_number_ul_layers", g = "MaximumTotalNumberULLayers", k = "u8" },
  { n = "shared_bands", g = "SharedBands", k = "u8" },
  { n = "shared_pa", g = "SharedPA", k = "u8" },
  { n = "maximum_total_power", g = "MaximumTotalPower", k = "s16" },
  { n = "oui", g = "OUI", k = "octets:3" },
}
structs["PNFPHY"] = {
  { n = "number_of_phys", g = "-", k = "count16:PHYs" },
  { n = "phy", g = "PHYs", k = "list:PNFPHYInfo" },
}
structs["PNFPHYInfo"] = {
  { n = "phy_config_index", g = "PHYConfigIndex", k = "u16" },
  { n = "number_of_rfs", g = "-", k = "count16:RFConfigs" },
  { n = "rf_config", g = "RFConfigs", k = "u16s:n(-)" },
  { n = "number_of_rf_exclusions", g = "-", k = "count16:ExcludedRFConfigs" },
  { n = "excluded_rf_config", g = "ExcludedRFConfigs", k = "u16s:n(-)" },
  { n = "downlink_channel_bandwidth_supported", g = "DownlinkChannelBandwidthSupported", k = "u16" },
  { n = "uplink_channel_bandwidth_supported", g = "UplinkChannelBandwidthSupported", k = "u16" },
  { n = "number_of_dl_layers_supported", g = "NumberOfDLLayersSupported", k = "u8" },
  { n = "number_of_ul_layers_supported", g = "NumberOfULLayersSupported", k = "u8" },
  { n = "maximum_3gpp_release_supported", g = "Maximum3GPPReleaseSupported", k = "u16" },
  { n = "nmm_modes_supported", g = "NMMModesSupported", k = "u8" },
}
structs["PNFPHYRF"] = {
  { n = "number_phy_rf_config_info", g = "-", k = "count16:PHYs" },
  { n = "phy_rf_config", g = "PHYs", k = "list:PHYRFConfig" },
}
structs["PHYRFConfig"] = {
  { n = "phy_id", g = "PHYID", k = "u16" },
  { n = "phy_config_index", g = "PHYConfigIndex", k = "u16" },
  { n = "rf_config_index", g = "RFConfigIndex", k = "u16" },
}
structs["PDCCHPDU"] = {
  { n = "BWPSize", g = "BWPSize", k = "u16" },
  { n = "BWPStart", g = "BWPStart", k = "u16" },
  { n = "SubcarrierSpacing", g = "SubcarrierSpacing", k = "u8" },
  { n = "CyclicPrefix", g = "CyclicPrefix", k = "u8" },
  { n = "StartSymbolIndex", g = "StartSymbolIndex", k = "u8" },
  { n = "DurationSymbols", g = "DurationSymbols", k = "u8" },
  { n = "FreqDomainResource", g = "FreqDomainResource", k = "octets:6" },
  { n = "CceRegMappingType", g = "CCERegMappingType", k = "u8" },
  { n = "RegBundleSize", g = "RegBundleSize", k = "u8" },
  { n = "InterleaverSize", g = "InterleaverSize", k = "u8" },
  { n = "CoreSetType", g = "CoreSetType", k = "u8" },
  { n = "ShiftIndex", g = "ShiftIndex", k = "u16" },
  { n = "precoderGranularity", g = "PrecoderGranularity", k = "u8" },
  { n = "numDlDci", g = "-", k = "count16:DCIs" },
  { n = "dci_pdu", g = "DCIs", k = "list:DCI" },
}
structs["DCI"] = {
  { n = "RNTI", g = "RNTI", k = "u16" },
  { n = "ScramblingId", g = "ScramblingID", k = "u16" },
  { n = "ScramblingRNTI", g = "ScramblingRNTI", k = "u16" },
  { n = "CceIndex", g = "CCEIndex", k = "u8" },
  { n = "AggregationLevel", g = "AggregationLevel", k = "u8" },
  { n = "precodingAndBeamforming", g = "Beamforming", k = "beamtx" },
  { n = "beta_PDCCH_1_0", g = "BetaPDCCH10", k = "u8" },
  { n = "powerControlOffsetSS", g = "PowerControlOffsetSS", k = "u8" },
  { n = "PayloadSizeBits", g = "PayloadSizeBits", k = "u16" },
  { n = "Payload_memory_order", g = "Payload", k = "dcipayload" },
}
structs["PDSCHPDU"] = {
  { n = "pduBitmap", g = "PDUBitmap", k = "u16" },
  { n = "rnti", g = "RNTI", k = "u16" },
  { n = "pduIndex", g = "PDUIndex", k = "u16" },
  { n = "BWPSize", g = "BWPSize", k = "u16" },
  { n = "BWPStart", g = "BWPStart", k = "u16" },
  { n = "SubcarrierSpacing", g = "SubcarrierSpacing", k = "u8" },
  { n = "CyclicPrefix", g = "CyclicPrefix", k = "u8" },
  { n = "NrOfCodewords", g = "NrOfCodewords", k = "u8" },
  { r = "NrOfCodewords", b = {
    { n = "targetCodeRate", g = "TargetCodeRate", k = "u16" },
    { n = "qamModOrder", g = "QAMModOrder", k = "u8" },
    { n = "mcsIndex", g = "MCSIndex", k = "u8" },
    { n = "mcsTable", g = "MCSTable", k = "u8" },
    { n = "rvIndex", g = "RVIndex", k = "u8" },
    { n = "TBSize", g = "TBSize", k = "u32" },
  } },
  { n = "dataScramblingId", g = "DataScramblingID", k = "u16" },
  { n = "nrOfLayers", g = "NrOfLayers", k = "u8" },
  { n = "transmissionScheme", g = "TransmissionScheme", k = "u8" },
  { n = "refPoint", g = "RefPoint", k = "u8" },
  { n = "dlDmrsSymbPos", g = "DLDMRSSymbPos", k = "u16" },
  { n = "dmrsConfigType", g = "DMRSConfigType", k = "u8" },
  { n = "dlDmrsScramblingId", g = "DLDMRSScramblingID", k = "u16" },
  { n = "SCID", g = "SCID", k = "u8" },
  { n = "numDmrsCdmGrpsNoData", g = "NumDMRSCDMGrpsNoData", k = "u8" },
  { n = "dmrsPorts", g = "DMRSPorts", k = "u16" },
  { n = "resourceAlloc", g = "ResourceAlloc", k = "u8" },
  { n = "rbBitmap", g = "RBBitmap", k = "octets:36" },
  { n = "rbStart", g = "RBStart", k = "u16" },
  { n = "rbSize", g = "RBSize", k = "u16" },
  { n = "VRBtoPRBMapping", g = "VRBToPRBMapping", k = "u8" },
  { n = "StartSymbolIndex", g = "StartSymbolIndex", k = "u8" },
  { n = "NrOfSymbols", g = "NrOfSymbols", k = "u8" },
  { c = "pduBitmap", m = 1, x = false, b = {
    { n = "PTRSPortIndex", g = "PTRSPortIndex", k = "u8" },
    { n = "PTRSTimeDensity", g = "PTRSTimeDensity", k = "u8" },
    { n = "PTRSFreqDensity", g = "PTRSFreqDensity", k = "u8" },
    { n = "PTRSReOffset", g = "PTRSReOffset", k = "u8" },
    { n = "nEpreRatioOfPDSCHToPTRS", g = "NEPRERatioOfPDSCHToPTRS", k = "u8" },
  } },
  { n = "precodingAndBeamforming", g = "Beamforming", k = "beamtx" },
  { n = "powerControlOffset", g = "PowerControlOffset", k = "u8" },
  { n = "powerControlOffsetSS", g = "PowerControlOffsetSS", k = "u8" },
  { c = "pduBitmap", m = 2, x = false, b = {
    { n = "isLastCbPresent", g = "IsLastCBPresent", k = "u8" },
    { n = "isInlineTbCrc", g = "IsInlineTBCRC", k = "u8" },
    { n = "dlTbCrc", g = "DLTBCRC", k = "u32" },
  } },
  { n = "maintenance_parms_v3", g = "Maintenance", k = { "group:Maintenance", "group:Maintenance", "-" } },
}
structs["Maintenance"] = {
  { n = "ldpcBaseGraph", g = "LDPCBaseGraph", k = "u8" },
  { n = "tbSizeLbrmBytes", g = "TBSizeLBRMBytes", k = "u32" },
}
structs["CSIRSPDU"] = {
  { n = "bwp_size", g = "BWPSize", k = "u16" },
  { n = "bwp_start", g = "BWPStart", k = "u16" },
  { n = "subcarrier_spacing", g = "SubcarrierSpacing", k = "u8" },
  { n = "cyclic_prefix", g = "CyclicPrefix", k = "u8" },
  { n = "start_rb", g = "StartRB", k = "u16" },
  { n = "nr_of_rbs", g = "NrOfRBs", k = "u16" },
  { n = "csi_type", g = "CSIType", k = "u8" },
  { n = "row", g = "Row", k = "u8" },
  { n = "freq_domain", g = "FreqDomain", k = "u16" },
  { n = "symb_l0", g = "SymbL0", k = "u8" },
  { n = "symb_l1", g = "SymbL1", k = "u8" },
  { n = "cdm_type", g = "CDMType", k = "u8" },
  { n = "freq_density", g = "FreqDensity", k = "u8" },
  { n = "scramb_id", g = "ScrambID", k = "u16" },
  { n = "power_control_offset", g = "PowerControlOffset", k = "u8" },
  { n = "power_control_offset_ss", g = "PowerControlOffsetSS", k = "u8" },
  { n = "precodingAndBeamforming", g = "Beamforming", k = "beamtx" },
}
structs["SSBPDU"] = {
  { n = "PhysCellId", g = "PhysCellID", k = "u16" },
  { n = "BetaPss", g = "BetaPSS", k = "u8" },
  { n = "SsbBlockIndex", g = "SSBBlockIndex", k = "u8" },
  { n = "SsbSubcarrierOffset", g = "SSBSubcarrierOffset", k = "u8" },
  { n = "ssbOffsetPointA", g = "SSBOffsetPointA", k = "u16" },
  { n = "bchPayloadFlag", g = "BCHPayloadFlag", k = "u8" },
  { n = "bchPayload", g = "BCHPayload", k = "u24" },
  { n = "reserved", g = "Reserved", k = "u8" },
  { n = "reserved2", g = "Reserved2", k = { "-", "u16", "-" } },
  { n = "precoding_and_beamforming", g = "Beamforming", k = "beamtx" },
}
structs["UEGroup"] = {
  { n = "nUe", g = "-", k = "count8:PDUIdx" },
  { n = "PduIdx", g = "PDUIdx", k = "u32s:n(-)" },
}
structs["DLTTIRequest"] = {
  { n = "SFN", g = "SFN", k = "u16" },
  { n = "Slot", g = "Slot", k = "u16" },
  { n = "nPDUs", g = "-", k = "count8:PDUs" },
  { n = "nGroup", g = "-", k = "count8:Groups" },
  { n = "pdus", g = "PDUs", k = "pdus:DLTTIPDU" },
  { n = "groups", g = "Groups", k = "list:UEGroup" },
}
structs["PRACHPDU"] = {
  { n = "phys_cell_id", g = "PhysCellID", k = "u16" },
  { n = "num_prach_ocas", g = "NumPRACHOcas", k = "u8" },
  { n = "prach_format", g = "PRACHFormat", k = "u8" },
  { n = "num_ra", g = "NumRA", k = "u8" },
  { n = "prach_start_symbol", g = "PRACHStartSymbol", k = "u8" },
  { n = "num_cs", g = "NumCS", k = "u16" },
  { n = "beamforming", g = "Beamforming", k = "beamrx" },
}
structs["PUSCHPDU"] = {
  { n = "pdu_bit_map", g = "PDUBitmap", k = "u16" },
  { n = "rnti", g = "RNTI", k = "u16" },
  { n = "handle", g = "Handle", k = "u32" },
  { n = "bwp_size", g = "BWPSize", k = "u16" },
  { n = "bwp_start", g = "BWPStart", k = "u16" },
  { n = "subcarrier_spacing", g = "SubcarrierSpacing", k = "u8" },
  { n = "cyclic_prefix", g = "CyclicPrefix", k = "u8" },
  { n = "target_code_rate", g = "TargetCodeRate", k = "u16" },
  { n = "qam_mod_order", g = "QAMModOrder", k = "u8" },
  { n = "mcs_index", g = "MCSIndex", k = "u8" },
  { n = "mcs_table", g = "MCSTable", k = "u8" },
  { n = "transform_precoding", g = "TransformPrecoding", k = "u8" },
  { n = "data_scrambling_id", g = "DataScramblingID", k = "u16" },
  { n = "nrOfLayers", g = "NrOfLayers", k = "u8" },
  { n = "ul_dmrs_symb_pos", g = "ULDMRSSymbPos", k = "u16" },
  { n = "dmrs_config_type", g = "DMRSConfigType", k = "u8" },
  { n = "ul_dmrs_scrambling_id", g = "ULDMRSScramblingID", k = "u16" },
  { n = "pusch_identity", g = "PUSCHIdentity", k = "u16" },
  { n = "scid", g = "SCID", k = "u8" },
  { n = "num_dmrs_cdm_grps_no_data", g = "NumDMRSCDMGrpsNoData", k = "u8" },
  { n = "dmrs_ports", g = "DMRSPorts", k = "u16" },
  { n = "resource_alloc", g = "ResourceAlloc", k = "u8" },
  { n = "rb_bitmap", g = "RBBitmap", k = "octets:36" },
  { n = "rb_start", g = "RBStart", k = "u16" },
  { n = "rb_size", g = "RBSize", k = "u16" },
  { n = "vrb_to_prb_mapping", g = "VRBToPRBMapping", k = "u8" },
  { n = "frequency_hopping", g = "FrequencyHopping", k = "u8" },
  { n = "tx_direct_current_location", g = "TXDirectCurrentLocation", k = "u16" },
  { n = "uplink_frequency_shift_7p5khz", g = "UplinkFrequencyShift7p5kHz", k = "u8" },
  { n = "start_symbol_index", g = "StartSymbolIndex", k = "u8" },
  { n = "nr_of_symbols", g = "NrOfSymbols", k = "u8" },
  { c = "pdu_bit_map", m = 1, x = true, b = {
    { n = "pusch_data", g = "Data", k = "group:PUSCHData" },
  } },
  { c = "pdu_bit_map", m = 2, x = true, b = {
    { n = "pusch_uci", g = "UCI", k = "group:PUSCHUCI" },
  } },
  { c = "pdu_bit_map", m = 4, x = true, b = {
    { n = "pusch_ptrs", g = "PTRS", k = "group:PUSCHPTRS" },
  } },
  { c = "pdu_bit_map", m = 8, x = true, b = {
    { n = "dfts_ofdm", g = "DFTSOFDM", k = "group:DFTSOFDM" },
  } },
  { n = "beamforming", g = "Beamforming", k = { "beamrx", "-", "beamrx" } },
  { n = "maintenance_parms_v3", g = "Maintenance", k = { "group:Maintenance", "group:Maintenance", "-" } },
}
structs["PUSCHData"] = {
  { n = "rv_index", g = "RVIndex", k = "u8" },
  { n = "harq_process_id", g = "HARQProcessID", k = "u8" },
  { n = "new_data_indicator", g = "NewDataIndicator", k = "u8" },
  { n = "tb_size", g = "TBSize", k = "u32" },
  { n = "num_cb", g = "NumCB", k = "u16" },
  { n = "cb_present_and_position", g = "CBPresentAndPosition", k = "string:ceil8(num_cb)" },
}
structs["PUSCHUCI"] = {
  { n = "harq_ack_bit_length", g = "HARQACKBitLength", k = "u16" },
  { n = "csi_part1_bit_length", g = "CSIPart1BitLength", k = "u16" },
  { n = "csi_part2_bit_length", g = "CSIPart2BitLength", k = "u16" },
  { n = "alpha_scaling", g = "AlphaScaling", k = "u8" },
  { n = "beta_offset_harq_ack", g = "BetaOffsetHARQACK", k = "u8" },
  { n = "beta_offset_csi1", g = "BetaOffsetCSI1", k = "u8" },
  { n = "beta_offset_csi2", g = "BetaOffsetCSI2", k = "u8" },
}
structs["PUSCHPTRS"] = {
  { n = "num_ptrs_ports", g = "NumPTRSPorts", k = "u8" },
  { n = "ptrs_ports_list", g = "Ports", k = "array:PTRSPort:8:n(num_ptrs_ports)" },
  { n = "ptrs_time_density", g = "PTRSTimeDensity", k = "u8" },
  { n = "ptrs_freq_density", g = "PTRSFreqDensity", k = "u8" },
  { n = "ul_ptrs_power", g = "ULPTRSPower", k = "u8" },
}
structs["PTRSPort"] = {
  { n = "ptrs_port_index", g = "PortIndex", k = "u16" },
  { n = "ptrs_dmrs_port", g = "DMRSPort", k = "u8" },
  { n = "ptrs_re_offset", g = "REOffset", k = "u8" },
}
structs["DFTSOFDM"] = {
  { n = "low_papr_group_number", g = "LowPAPRGroupNumber", k = "u8" },
  { n = "low_papr_sequence_number", g = "LowPAPRSequenceNumber", k = "u16" },
  { n = "ul_ptrs_sample_density", g = "ULPTRSSampleDensity", k = "u8" },
  { n = "ul_ptrs_time_density_transform_precoding", g = "ULPTRSTimeDensityTransformPrecoding", k = "u8" },
}
structs["PUCCHPDU"] = {
  { n = "rnti", g = "RNTI", k = "u16" },
  { n = "handle", g = "Handle", k = "u32" },
  { n = "bwp_size", g = "BWPSize", k = "u16" },
  { n = "bwp_start", g = "BWPStart", k = "u16" },
  { n = "subcarrier_spacing", g = "SubcarrierSpacing", k = "u8" },
  { n = "cyclic_prefix", g = "CyclicPrefix", k = "u8" },
  { n = "format_type", g = "FormatType", k = "u8" },
  { n = "multi_slot_tx_indicator", g = "MultiSlotTxIndicator", k = "u8" },
  { n = "pi_2bpsk", g = "PI2BPSK", k = "u8" },
  { n = "prb_start", g = "PRBStart", k = "u16" },
  { n = "prb_size", g = "PRBSize", k = "u16" },
  { n = "start_symbol_index", g = "StartSymbolIndex", k = "u8" },
  { n = "nr_of_symbols", g = "NrOfSymbols", k = "u8" },
  { n = "freq_hop_flag", g = "FreqHopFlag", k = "u8" },
  { n = "second_hop_prb", g = "SecondHopPRB", k = "u16" },
  { n = "group_hop_flag", g = "GroupHopFlag", k = "u8" },
  { n = "sequence_hop_flag", g = "SequenceHopFlag", k = "u8" },
  { n = "hopping_id", g = "HoppingID", k = "u16" },
  { n = "initial_cyclic_shift", g = "InitialCyclicShift", k = "u16" },
  { n = "data_scrambling_id", g = "DataScramblingID", k = "u16" },
  { n = "time_domain_occ_idx", g = "TimeDomainOCCIdx", k = "u8" },
  { n = "pre_dft_occ_idx", g = "PreDFTOCCIdx", k = "u8" },
  { n = "pre_dft_occ_len", g = "PreDFTOCCLen", k = "u8" },
  { n = "add_dmrs_flag", g = "AddDMRSFlag", k = "u8" },
  { n = "dmrs_scrambling_id", g = "DMRSScramblingID", k = "u16" },
  { n = "dmrs_cyclic_shift", g = "DMRSCyclicShift", k = "u8" },
  { n = "sr_flag", g = "SRFlag", k = "u8" },
  { n = "bit_len_harq", g = "BitLenHARQ", k = { "u16", "u8", "u16" } },
  { n = "bit_len_csi_part1", g = "BitLenCSIPart1", k = "u16" },
  { n = "bit_len_csi_part2", g = "BitLenCSIPart2", k = "u16" },
  { n = "beamforming", g = "Beamforming", k = "beamrx" },
}
structs["SRSPDU"] = {
  { n = "rnti", g = "RNTI", k = "u16" },
  { n = "handle", g = "Handle", k = "u32" },
  { n = "bwp_size", g = "BWPSize", k = "u16" },
  { n = "bwp_start", g = "BWPStart", k = "u16" },
  { n = "subcarrier_spacing", g = "SubcarrierSpacing", k = "u8" },
  { n = "cyclic_prefix", g = "CyclicPrefix", k = "u8" },
  { n = "num_ant_ports", g = "NumAntPorts", k = "u8" },
  { n = "num_symbols", g = "NumSymbols", k = "u8" },
  { n = "num_repetitions", g = "NumRepetitions", k = "u8" },
  { n = "time_start_position", g = "TimeStartPosition", k = "u8" },
  { n = "config_index", g = "ConfigIndex", k = "u8" },
  { n = "sequence_id", g = "SequenceID", k = "u16" },
  { n = "bandwidth_index", g = "BandwidthIndex", k = "u8" },
  { n = "comb_size", g = "CombSize", k = "u8" },
  { n = "comb_offset", g = "CombOffset", k = "u8" },
  { n = "cyclic_shift", g = "CyclicShift", k = "u8" },
  { n = "frequency_position", g = "FrequencyPosition", k = "u8" },
  { n = "frequency_shift", g = "FrequencyShift", k = "u16" },
  { n = "frequency_hopping", g = "FrequencyHopping", k = "u8" },
  { n = "group_or_sequence_hopping", g = "GroupOrSequenceHopping", k = "u8" },
  { n = "resource_type", g = "ResourceType", k = "u8" },
  { n = "t_srs", g = "TSRS", k = "u16" },
  { n = "t_offset", g = "TOffset", k = "u16" },
  { n = "beamforming", g = "Beamforming", k = "beamrx" },
  { n = "srs_parameters_v4", g = "Parameters", k = { "group:SRSParameters", "-", "group:SRSParameters" } },
}
structs["SRSParameters"] = {
  { n = "srs_bandwidth_size", g = "BandwidthSize", k = "u16" },
  { n = "symbol_list", g = "Symbols", k = { "array:SRSSymbol:4:pow2(^num_symbols)", "array:SRSSymbol:4:pow2(^num_symbols)", "array:SRSSymbol:4:all(-)" } },
  { n = "usage", g = "Usage", k = "u32" },
  { n = "report_type", g = "ReportTypes", k = "string:popcount(usage)" },
  { n = "singular_Value_representation", g = "SingularValueRepresentation", k = "u8" },
  { n = "iq_representation", g = "IQRepresentation", k = "u8" },
  { n = "prg_size", g = "PRGSize", k = "u16" },
  { n = "num_total_ue_antennas", g = "NumTotalUEAntennas", k = "u8" },
  { n = "ue_antennas_in_this_srs_resource_set", g = "UEAntennasInThisSRSResourceSet", k = "u32" },
  { n = "sampled_ue_antennas", g = "SampledUEAntennas", k = "u32" },
  { n = "report_scope", g = "ReportScope", k = "u8" },
  { n = "num_ul_spatial_streams_ports", g = "-", k = "count8:ULSpatialStreamPorts" },
  { n = "Ul_spatial_stream_ports", g = "ULSpatialStreamPorts", k = "u8s:n(-)" },
}
structs["SRSSymbol"] = {
  { n = "srs_bandwidth_start", g = "BandwidthStart", k = "u16" },
  { n = "sequence_group", g = "SequenceGroup", k = "u8" },
  { n = "sequence_number", g = "SequenceNumber", k = "u8" },
}
structs["ULUEGroup"] = {
  { n = "n_ue", g = "-", k = "count8:UEs" },
  { n = "ue_list", g = "UEs", k = "ues:n(-)" },
}
structs["ULTTIRequest"] = {
  { n = "SFN", g = "SFN", k = "u16" },
  { n = "Slot", g = "Slot", k = "u16" },
  { n = "n_pdus", g = "-", k = "count8:PDUs" },
  { n = "rach_present", g = "RACHPresent", k = "u8" },
  { n = "n_ulsch", g = "NULSCH", k = "u8" },
  { n = "n_ulcch", g = "NULCCH", k = "u8" },
  { n = "n_group", g = "-", k = "count8:Groups" },
  { n = "pdus", g = "PDUs", k = "pdus:ULTTIPDU" },
  { n = "groups", g = "Groups", k = "list:ULUEGroup" },
}
structs["SlotIndication"] = {
  { n = "sfn", g = "SFN", k = "u16" },
  { n = "slot", g = "Slot", k = "u16" },
}
structs["SlotResponse"] = {
  { n = "sfn", g = "SFN", k = "u16" },
  { n = "slot", g = "Slot", k = "u16" },
}
structs["ULDCIRequest"] = {
  { n = "SFN", g = "SFN", k = "u16" },
  { n = "Slot", g = "Slot", k = "u16" },
  { n = "numPdus", g = "-", k = "count8:PDUs" },
  { n = "pdus", g = "PDUs", k = "pdus:ULDCIPDU" },
}
structs["TXDataPDU"] = {
  { n = "PDU_length", g = "PDULength", k = { "u32", "u16", "u32" } },
  { n = "PDU_index", g = "PDUIndex", k = "u16" },
  { n = "num_TLV", g = "-", k = "count32:TLVs" },
  { n = "TLVs", g = "TLVs", k = "list:TXDataTLV" },
}
structs["TXDataTLV"] = {
  { n = "tag", g = "Tag", k = "u16" },
  { n = "length", g = "Length", k = { "u32", "u16", "u16" } },
  { n = "value", g = "Value", k = "txvalue" },
}
structs["TXDataRequest"] = {
  { n = "SFN", g = "SFN", k = "u16" },
  { n = "Slot", g = "Slot", k = "u16" },
  { n = "Number_of_PDUs", g = "-", k = "count16:PDUs" },
  { n = "pdus", g = "PDUs", k = "list:TXDataPDU" },
}
structs["RXDataPDU"] = {
  { n = "handle", g = "Handle", k = "u32" },
  { n = "rnti", g = "RNTI", k = "u16" },
  { n = "harq_id", g = "HARQID", k = "u8" },
  { n = "pdu_length", g = "PDULength", k = { "u32", "u16", "u32" } },
  { n = "ul_cqi", g = "ULCQI", k = "u8" },
  { n = "timing_advance", g = "TimingAdvance", k = "u16" },
  { n = "rssi", g = "RSSI", k = "u16" },
  { n = "payload", g = "Payload", k = "string:n(pdu_length)" },
}
structs["RXDataIndication"] = {
  { n = "sfn", g = "SFN", k = "u16" },
  { n = "slot", g = "Slot", k = "u16" },
  { n = "number_of_pdus", g = "-", k = "count16:PDUs" },
  { n = "pdus", g = "PDUs", k = "list:RXDataPDU" },
}
structs["CRC"] = {
  { n = "handle", g = "Handle", k = "u32" },
  { n = "rnti", g = "RNTI", k = "u16" },
  { n = "harq_id", g = "HARQID", k = "u8" },
  { n = "tb_crc_status", g = "TBCRCStatus", k = "u8" },
  { n = "num_cb", g = "NumCB", k = "u16" },
  { n = "cb_crc_status", g = "CBCRCStatus", k = "string:crc(num_cb)" },
  { n = "ul_cqi", g = "ULCQI", k = "u8" },
  { n = "timing_advance", g = "TimingAdvance", k = "u16" },
  { n = "rssi", g = "RSSI", k = "u16" },
}
structs["CRCIndication"] = {
  { n = "sfn", g = "SFN", k = "u16" },
  { n = "slot", g = "Slot", k = "u16" },
  { n = "number_crcs", g = "-", k = "count16:CRCs" },
  { n = "crcs", g = "CRCs", k = "list:CRC" },
}
structs["UCIPUSCH"] = {
  { n = "pduBitmap", g = "PDUBitmap", k = "u8" },
  { n = "handle", g = "Handle", k = "u32" },
  { n = "rnti", g = "RNTI", k = "u16" },
  { n = "ul_cqi", g = "ULCQI", k = "u8" },
  { n = "timing_advance", g = "TimingAdvance", k = "u16" },
  { n = "rssi", g = "RSSI", k = "u16" },
  { c = "pduBitmap", m = 2, x = false, b = {
    { n = "harq", g = "HARQ", k = "group:HARQBits" },
  } },
  { c = "pduBitmap", m = 4, x = false, b = {
    { n = "csi_part1", g = "CSIPart1", k = "group:CSIPart1" },
  } },
  { c = "pduBitmap", m = 8, x = false, b = {
    { n = "csi_part2", g = "CSIPart2", k = "group:CSIPart2" },
  } },
}
structs["UCIFormat01"] = {
  { n = "pduBitmap", g = "PDUBitmap", k = "u8" },
  { n = "handle", g = "Handle", k = "u32" },
  { n = "rnti", g = "RNTI", k = "u16" },
  { n = "pucch_format", g = "PUCCHFormat", k = "u8" },
  { n = "ul_cqi", g = "ULCQI", k = "u8" },
  { n = "timing_advance", g = "TimingAdvance", k = "u16" },
  { n = "rssi", g = "RSSI", k = "u16" },
  { c = "pduBitmap", m = 1, x = false, b = {
    { n = "sr", g = "SR", k = "group:SRFormat01" },
  } },
  { c = "pduBitmap", m = 2, x = false, b = {
    { n = "harq", g = "HARQ", k = "group:HARQFormat01" },
  } },
}
structs["UCIFormat234"] = {
  { n = "pduBitmap", g = "PDUBitmap", k = "u8" },
  { n = "handle", g = "Handle", k = "u32" },
  { n = "rnti", g = "RNTI", k = "u16" },
  { n = "pucch_format", g = "PUCCHFormat", k = { "u8", "u8-2", "u8" } },
  { n = "ul_cqi", g = "ULCQI", k = "u8" },
  { n = "timing_advance", g = "TimingAdvance", k = "u16" },
  { n = "rssi", g = "RSSI", k = "u16" },
  { c = "pduBitmap", m = 1, x = false, b = {
    { n = "sr", g = "SR", k = "group:SRBits" },
  } },
  { c = "pduBitmap", m = 2, x = false, b = {
    { n = "harq", g = "HARQ", k = "group:HARQBits" },
  } },
  { c = "pduBitmap", m = 4, x = false, b = {
    { n = "csi_part1", g = "CSIPart1", k = "group:CSIPart1" },
  } },
  { c = "pduBitmap", m = 8, x = false, b = {
    { n = "csi_part2", g = "CSIPart2", k = "group:CSIPart2" },
  } },
}
structs["SRFormat01"] = {
  { n = "sr_indication", g = "Indication", k = "u8" },
  { n = "sr_confidence_level", g = "ConfidenceLevel", k = "u8" },
}
structs["HARQFormat01"] = {
  { n = "num_harq", g = "-", k = "count8:Values" },
  { n = "harq_confidence_level", g = "ConfidenceLevel", k = "u8" },
  { n = "harq_list", g = "Values", k = "harqs:n(-)" },
}
structs["SRBits"] = {
  { n = "sr_bit_len", g = "BitLen", k = "u16" },
  { n = "sr_payload", g = "Payload", k = "string:floor8(sr_bit_len)" },
}
structs["HARQBits"] = {
  { n = "harq_crc", g = "CRC", k = "u8" },
  { n = "harq_bit_len", g = "BitLen", k = "u16" },
  { n = "harq_payload", g = "Payload", k = "string:floor8(harq_bit_len)" },
}
structs["CSIPart1"] = {
  { n = "csi_part1_crc", g = "CRC", k = "u8" },
  { n = "csi_part1_bit_len", g = "BitLen", k = "u16" },
  { n = "csi_part1_payload", g = "Payload", k = "string:floor8(csi_part1_bit_len)" },
}
structs["CSIPart2"] = {
  { n = "csi_part2_crc", g = "CRC", k = "u8" },
  { n = "csi_part2_bit_len", g = "BitLen", k = "u16" },
  { n = "csi_part2_payload", g = "Payload", k = "string:floor8(csi_part2_bit_len)" },
}
structs["UCIIndication"] = {
  { n = "sfn", g = "SFN", k = "u16" },
  { n = "slot", g = "Slot", k = "u16" },
  { n = "num_ucis", g = "-", k = "count16:UCIs" },
  { n = "ucis", g = "UCIs", k = "pdus:UCI" },
}
structs["SRSReport"] = {
  { n = "handle", g = "Handle", k = "u32" },
  { n = "rnti", g = "RNTI", k = "u16" },
  { n = "timing_advance_offset", g = "TimingAdvanceOffset", k = "u16" },
  { n = "timing_advance_offset_nsec", g = "TimingAdvanceOffsetNsec", k = "s16" },
  { n = "srs_usage", g = "SRSUsage", k = "u8" },
  { n = "report_type", g = "ReportType", k = "u8" },
  { n = "report_tlv", g = "ReportTLV", k = "group:SRSReportTLV" },
}
structs["SRSReportTLV"] = {
  { n = "tag", g = "Tag", k = "u16" },
  { n = "length", g = "Length", k = "u32" },
  { n = "value", g = "Value", k = "srsvalue" },
}
structs["SRSIndication"] = {
  { n = "sfn", g = "SFN", k = "u16" },
  { n = "slot", g = "Slot", k = "u16" },
  { n = "control_length", g = "ControlLength", k = "u16" },
  { n = "number_of_pdus", g = "-", k = "count8:PDUs" },
  { n = "pdus", g = "PDUs", k = "list:SRSReport" },
}
structs["RACHOccasion"] = {
  { n = "phy_cell_id", g = "PhysCellID", k = "u16" },
  { n = "symbol_index", g = "SymbolIndex", k = "u8" },
  { n = "slot_index", g = "SlotIndex", k = "u8" },
  { n = "freq_index", g = "FreqIndex", k = "u8" },
  { n = "avg_rssi", g = "AvgRSSI", k = "u8" },
  { n = "avg_snr", g = "AvgSNR", k = "u8" },
  { n = "num_preamble", g = "-", k = "count8:Preambles" },
  { n = "preamble_list", g = "Preambles", k = "list:Preamble" },
}
structs["Preamble"] = {
  { n = "preamble_index", g = "Index", k = "u8" },
  { n = "timing_advance", g = "TimingAdvance", k = "u16" },
  { n = "preamble_pwr", g = "Power", k = "u32" },
}
structs["RACHIndication"] = {
  { n = "sfn", g = "SFN", k = "u16" },
  { n = "slot", g = "Slot", k = "u16" },
  { n = "number_of_pdus", g = "-", k = "count8:PDUs" },
  { n = "pdus", g = "PDUs", k = "list:RACHOccasion" },
}
structs["ULNodeSync"] = {
  { n = "t1", g = "T1", k = "u32" },
  { n = "t2", g = "T2", k = "u32" },
  { n = "t3", g = "T3", k = "u32" },
}
structs["DLNodeSync"] = {
  { n = "t1", g = "T1", k = "u32" },
  { n = "delta_sfn_slot", g = "DeltaSFNSlot", k = "s32" },
}
structs["TimingInfo"] = {
  { n = "last_sfn", g = "LastSFN", k = "u32" },
  { n = "last_slot", g = "LastSlot", k = "u32" },
  { n = "time_since_last_timing_info", g = "TimeSinceLastTimingInfo", k = "u32" },
  { n = "dl_tti_jitter", g = "DLTTIJitter", k = "u32" },
  { n = "tx_data_request_jitter", g = "TXDataRequestJitter", k = "u32" },
  { n = "ul_tti_jitter", g = "ULTTIJitter", k = "u32" },
  { n = "ul_dci_jitter", g = "ULDCIJitter", k = "u32" },
  { n = "dl_tti_latest_delay", g = "DLTTILatestDelay", k = "s32" },
  { n = "tx_data_request_latest_delay", g = "TXDataRequestLatestDelay", k = "s32" },
  { n = "ul_tti_latest_delay", g = "ULTTILatestDelay", k = "s32" },
  { n = "ul_dci_latest_delay", g = "ULDCILatestDelay", k = "s32" },
  { n = "dl_tti_earliest_arrival", g = "DLTTIEarliestArrival", k = "s32" },
  { n = "tx_data_request_earliest_arrival", g = "TXDataRequestEarliestArrival", k = "s32" },
  { n = "ul_tti_earliest_arrival", g = "ULTTIEarliestArrival", k = "s32" },
  { n = "ul_dci_earliest_arrival", g = "ULDCIEarliestArrival", k = "s32" },
}
unions["DLTTIPDU"] = { type = "PDUType", size = "PDUSize", sizeof = false, members = { [0] = "PDCCHPDU", [1] = "PDSCHPDU", [2] = "CSIRSPDU", [3] = "SSBPDU", } }
unions["ULTTIPDU"] = { type = "pdu_type", size = "pdu_size", sizeof = false, members = { [0] = "PRACHPDU", [1] = "PUSCHPDU", [2] = "PUCCHPDU", [3] = "SRSPDU", } }
unions["ULDCIPDU"] = { type = "PDUType", size = "PDUSize", sizeof = false, members = { [0] = "PDCCHPDU", } }
unions["UCI"] = { type = "pdu_type", size = "pdu_size", sizeof = true, members = { [0] = "UCIPUSCH", [1] = "UCIFormat01", [2] = "UCIFormat234", } }
messages[0x100] = { name = "PNF_PARAM.request", struct = "PNFParamRequest", scope = "pnf" }
messages[0x101] = { name = "PNF_PARAM.response", struct = "PNFParamResponse", scope = "pnf" }
messages[0x102] = { name = "PNF_CONFIG.request", struct = "PNFConfigRequest", scope = "pnf" }
messages[0x103] = { name = "PNF_CONFIG.response", struct = "PNFConfigResponse", scope = "pnf" }
messages[0x104] = { name = "PNF_START.request", struct = "PNFStartRequest", scope = "pnf" }
messages[0x105] = { name = "PNF_START.response", struct = "PNFStartResponse", scope = "pnf" }
messages[0x106] = { name = "PNF_STOP.request", struct = "PNFStopRequest", scope = "pnf" }
messages[0x107] = { name = "PNF_STOP.response", struct = "PNFStopResponse", scope = "pnf" }
messages[0x109] = { name = "PNF_READY.indication", struct = "PNFReadyIndication", scope = "pnf" }
messages[0x0] = { name = "PARAM.request", struct = "ParamRequest", scope = "phy" }
messages[0x1] = { name = "PARAM.response", struct = "ParamResponse", scope = "phy" }
messages[0x2] = { name = "CONFIG.request", struct = "ConfigRequest", scope = "phy" }
messages[0x3] = { name = "CONFIG.response", struct = "ConfigResponse", scope = "phy" }
messages[0x4] = { name = "START.request", struct = "StartRequest", scope = "phy" }
messages[0x108] = { name = "START.response", struct = "StartResponse", scope = "phy" }
messages[0x10d] = { name = "START.response", struct = "StartResponse2024", scope = "phy" }
messages[0x5] = { name = "STOP.request", struct = "StopRequest", scope = "phy" }
messages[0x6] = { name = "STOP.indication", struct = "StopIndication", scope = "phy" }
messages[0x10f] = { name = "STOP.response", struct = "StopResponse", scope = "phy" }
messages[0x7] = { name = "ERROR.indication", struct = "ErrorIndication", scope = "phy" }
messages[0x80] = { name = "DL_TTI.request", struct = "DLTTIRequest", scope = "phy" }
messages[0x81] = { name = "UL_TTI.request", struct = "ULTTIRequest", scope = "phy" }
messages[0x82] = { name = "SLOT.indication", struct = "SlotIndication", scope = "phy" }
messages[0x8f] = { name = "SLOT.response", struct = "SlotResponse", scope = "phy" }
messages[0x83] = { name = "UL_DCI.request", struct = "ULDCIRequest", scope = "phy" }
messages[0x84] = { name = "TX_DATA.request", struct = "TXDataRequest", scope = "phy" }
messages[0x85] = { name = "RX_DATA.indication", struct = "RXDataIndication", scope = "phy" }
messages[0x86] = { name = "CRC.indication", struct = "CRCIndication", scope = "phy" }
messages[0x87] = { name = "UCI.indication", struct = "UCIIndication", scope = "phy" }
messages[0x88] = { name = "SRS.indication", struct = "SRSIndication", scope = "phy" }
messages[0x89] = { name = "RACH.indication", struct = "RACHIndication", scope = "phy" }
messages[0x180] = { name = "UL_NODE_SYNC", struct = "ULNodeSync", scope = "phy" }
messages[0x181] = { name = "DL_NODE_SYNC", struct = "DLNodeSync", scope = "phy" }
messages[0x182] = { name = "TIMING_INFO", struct = "TimingInfo", scope = "phy" }
tags.pnf, tags.phy = {}, {}
tags.pnf[0x1000] = "pnf_param_general"
tags.pnf[0x1001] = "pnf_phy"
tags.pnf[0x1003] = "pnf_phy_rf_config"
tags.phy[0x1] = "release_capability"
tags.phy[0x2] = "phy_state"
tags.phy[0x3] = "skip_blank_dl_config"
tags.phy[0x4] = "skip_blank_ul_config"
tags.phy[0x5] = "num_config_tlvs_to_report"
tags.phy[0x6] = "cyclic_prefix"
tags.phy[0x7] = "supported_subcarrier_spacings_dl"
tags.phy[0x8] = "supported_bandwidth_dl"
tags.phy[0x9] = "supported_subcarrier_spacings_ul"
tags.phy[0xa] = "supported_bandwidth_ul"
tags.phy[0xb] = "cce_mapping_type"
tags.phy[0xc] = "coreset_outside_first_3_of_ofdm_syms_of_slot"
tags.phy[0xd] = "coreset_precoder_granularity_coreset"
tags.phy[0xe] = "pdcch_mu_mimo"
tags.phy[0xf] = "pdcch_precoder_cycling"
tags.phy[0x10] = "max_pdcch_per_slot"
tags.phy[0x11] = "pucch_formats"
tags.phy[0x12] = "max_pucchs_per_slot"
tags.phy[0x13] = "pdsch_mapping_type"
tags.phy[0x14] = "pdsch_allocation_types"
tags.phy[0x15] = "pdsch_vrb_to_prb_mapping"
tags.phy[0x16] = "pdsch_cbg"
tags.phy[0x17] = "pdsch_dmrs_config_types"
tags.phy[0x18] = "pdsch_dmrs_max_length"
tags.phy[0x19] = "pdsch_dmrs_additional_pos"
tags.phy[0x1a] = "max_pdsch_tbs_per_slot"
tags.phy[0x1b] = "max_number_mimo_layers_pdsch"
tags.phy[0x1c] = "supported_max_modulation_order_dl"
tags.phy[0x1d] = "max_mu_mimo_users_dl"
tags.phy[0x1e] = "pdsch_data_in_dmrs_symbols"
tags.phy[0x1f] = "premption_support"
tags.phy[0x20] = "pdsch_non_slot_support"
tags.phy[0x21] = "uci_mux_ulsch_in_pusch"
tags.phy[0x22] = "uci_only_pusch"
tags.phy[0x23] = "pusch_frequency_hopping"
tags.phy[0x24] = "pusch_dmrs_config_types"
tags.phy[0x25] = "pusch_dmrs_max_len"
tags.phy[0x26] = "pusch_dmrs_additional_pos"
tags.phy[0x27] = "pusch_cbg"
tags.phy[0x28] = "pusch_mapping_type"
tags.phy[0x29] = "pusch_allocation_types"
tags.phy[0x2a] = "pusch_vrb_to_prb_mapping"
tags.phy[0x2b] = "pusch_max_ptrs_ports"
tags.phy[0x2c] = "max_pduschs_tbs_per_slot"
tags.phy[0x2d] = "max_number_mimo_layers_non_cb_pusch"
tags.phy[0x2e] = "supported_modulation_order_ul"
tags.phy[0x2f] = "max_mu_mimo_users_ul"
tags.phy[0x30] = "dfts_ofdm_support"
tags.phy[0x31] = "pusch_aggregation_factor"
tags.phy[0x32] = "prach_long_formats"
tags.phy[0x33] = "prach_short_formats"
tags.phy[0x34] = "prach_restricted_sets"
tags.phy[0x35] = "max_prach_fd_occasions_in_a_slot"
tags.phy[0x36] = "rssi_measurement_support"
tags.phy[0x100] = "p7_vnf_address_ipv4"
tags.phy[0x101] = "p7_vnf_address_ipv6"
tags.phy[0x102] = "p7_vnf_port"
tags.phy[0x103] = "p7_pnf_address_ipv4"
tags.phy[0x104] = "p7_pnf_address_ipv6"
tags.phy[0x105] = "p7_pnf_port"
tags.phy[0x106] = "dl_tti_timing_offset"
tags.phy[0x107] = "ul_tti_timing_offset"
tags.phy[0x108] = "ul_dci_timing_offset"
tags.phy[0x109] = "tx_data_timing_offset"
tags.phy[0x11e] = "timing_window"
tags.phy[0x11f] = "timing_info_mode"
tags.phy[0x120] = "timing_info_period"
tags.phy[0x1001] = "dl_bandwidth"
tags.phy[0x1002] = "dl_frequency"
tags.phy[0x1003] = "dl_k0"
tags.phy[0x1004] = "dl_grid_size"
tags.phy[0x1005] = "num_tx_ant"
tags.phy[0x1006] = "uplink_bandwidth"
tags.phy[0x1007] = "uplink_frequency"
tags.phy[0x1008] = "ul_k0"
tags.phy[0x1009] = "ul_grid_size"
tags.phy[0x100a] = "num_rx_ant"
tags.phy[0x100b] = "frequency_shift_7p5khz"
tags.phy[0x100c] = "phy_cell_id"
tags.phy[0x100d] = "frame_duplex_type"
tags.phy[0x100e] = "ss_pbch_power"
tags.phy[0x100f] = "bch_payload"
tags.phy[0x1010] = "scs_common"
tags.phy[0x1011] = "prach_sequence_length"
tags.phy[0x1012] = "prach_sub_c_spacing"
tags.phy[0x1013] = "restricted_set_config"
tags.phy[0x1014] = "num_prach_fd_occasions"
tags.phy[0x1015] = "prach_root_sequence_index"
tags.phy[0x1016] = "num_root_sequences"
tags.phy[0x1017] = "k1"
tags.phy[0x1018] = "prach_zero_corr_conf"
tags.phy[0x1019] = "num_unused_root_sequences"
tags.phy[0x101a] = "unused_root_sequences_list"
tags.phy[0x101b] = "ssb_per_rach"
tags.phy[0x101c] = "prach_multiple_carriers_in_a_band"
tags.phy[0x101d] = "ssb_offset_point_a"
tags.phy[0x101e] = "beta_pss"
tags.phy[0x101f] = "ssb_period"
tags.phy[0x1020] = "ssb_subcarrier_offset"
tags.phy[0x1021] = "MIB"
tags.phy[0x1022] = "ssb_mask"
tags.phy[0x1023] = "beam_id"
tags.phy[0x1024] = "ss_pbch_multiple_carriers_in_a_band"
tags.phy[0x1025] = "multiple_cells_ss_pbch_in_a_carrier"
tags.phy[0x1026] = "tdd_period"
tags.phy[0x1027] = "slot_config"
tags.phy[0x1028] = "rssi_measurement"
tags.phy[0x1029] = "prach_ConfigurationIndex"
tags.phy[0x1035] = "tdd_table"
tags.phy[0x1043] = "beamforming_table"
tags.phy[0x104b] = "precoding_table"
tags.phy[0xa000] = "num_beams_period_vendor_ext"
tags.phy[0xa001] = "analog_bf_vendor_ext"
tags.phy[0xa002] = "total_num_beams_vendor_ext"
tags.phy[0xa003] = "analog_beam"

local pf = {
  phy = ProtoField.uint16("nfapi5g.phy_id", "phy_id"),
  id = ProtoField.uint16("nfapi5g.message_id", "message_id", base.HEX),
  length = ProtoField.uint32("nfapi5g.message_length", "message_length"),
  more = ProtoField.bool("nfapi5g.more", "more segments"),
  segment = ProtoField.uint8("nfapi5g.segment", "segment"),
  sequence = ProtoField.uint8("nfapi5g.sequence", "sequence"),
  checksum = ProtoField.uint32("nfapi5g.checksum", "checksum", base.HEX),
  timestamp = ProtoField.uint32("nfapi5g.transmit_timestamp", "transmit_timestamp (us)"),
  profile = ProtoField.string("nfapi5g.profile", "profile"),
  octets = ProtoField.bytes("nfapi5g.octets", "octets"),
  tag = ProtoField.uint16("nfapi5g.tlv.tag", "tag", base.HEX),
  value = ProtoField.bytes("nfapi5g.tlv.value", "value"),
}
local numbers = { u8 = 1, u16 = 2, u24 = 3, u32 = 4, s16 = 2, s32 = 4, ["u8-2"] = 1, count8 = 1, count16 = 2, count32 = 4 }
local signed = { s16 = true, s32 = true }

-- fields makes one ProtoField for each name of a structure.
local function fields(struct, list)
  for _, e in ipairs(list) do
    if e.b then
      fields(struct, e.b)
    else
      local kind = type(e.k) == "table" and e.k[1] or e.k
      local base_kind = kind:match("^[^:]+")
      local abbrev = "nfapi5g." .. struct .. "." .. e.n
      if signed[base_kind] then
        e.f = ProtoField.int32(abbrev, e.n)
      elseif base_kind == "octets" or base_kind == "string" or base_kind == "dcipayload" or base_kind == "txvalue" or base_kind == "srsvalue" then
        e.f = ProtoField.bytes(abbrev, e.n)
      else
        e.f = ProtoField.uint32(abbrev, e.n)
      end
      pf[abbrev] = e.f
    end
  end
end
for name, list in pairs(structs) do fields(name, list) end
for name, u in pairs(unions) do
  u.tf = ProtoField.uint16("nfapi5g." .. name .. "." .. u.type, u.type)
  u.sf = ProtoField.uint16("nfapi5g." .. name .. "." .. u.size, u.size)
  pf[name .. "t"], pf[name .. "s"] = u.tf, u.sf
end
proto.fields = pf

local truncated = ProtoExpert.new("nfapi5g.truncated", "nFAPI truncated", expert.group.MALFORMED, expert.severity.ERROR)
proto.experts = { truncated }

-- A cursor c has tvb, at, limit, profile (1 to 3) and little.

local function range(c, n, what)
  if n < 0 or c.at + n > c.limit then error({ what = what, at = c.at }) end
  local r = c.tvb(c.at, n)
  c.at = c.at + n
  return r
end

local function number(c, kind, what)
  local r = range(c, numbers[kind], what)
  local v
  if kind == "u24" or not c.little then v = signed[kind] and r:int() or r:uint() else v = signed[kind] and r:le_int() or r:le_uint() end
  if kind == "u8-2" then v = (v + 2) % 256 end
  return v, r
end

local function bit(v, mask) return math.floor(v / mask) % 2 == 1 end

local function popcount(v)
  local n = 0
  while v > 0 do
    n = n + v % 2
    v = math.floor(v / 2)
  end
  return n
end

-- amount is what a formula gives; "-" is the count in front.
local function amount(formula, vals)
  local f, x = formula:match("^(%w+)%((.*)%)$")
  local v = x == "-" and vals[0] or vals[x] or (vals.outer and vals.outer[x:gsub("^%^", "")]) or 0
  if f == "floor8" then return math.floor(v / 8) + 1 end
  if f == "ceil8" then return math.floor((v + 7) / 8) end
  if f == "crc" then return v == 0 and 0 or math.floor(v / 8) + 1 end
  if f == "popcount" then return popcount(v) end
  if f == "pow2" then return 2 ^ math.min(v, 8) end
  if f == "all" then return 4 end
  return v
end

local walk

local function union(c, tree, name)
  local u = unions[name]
  local start = c.at
  local kind, tr = number(c, "u16", u.type)
  local size, sr = number(c, "u16", u.size)
  local sub = tree:add(proto, c.tvb(start, 4), (u.members[kind] or "unknown type") .. " PDU")
  sub:add(u.tf, tr, kind)
  sub:add(u.sf, sr, size)
  local outer = c.limit
  if not u.sizeof or not u.members[kind] then
    if size < 4 or start + size > c.limit then error({ what = u.size, at = start }) end
    c.limit = start + size
  end
  if u.members[kind] then walk(c, sub, structs[u.members[kind]], {}) end
  if c.limit < outer then
    if c.at < c.limit then sub:add(pf.octets, range(c, c.limit - c.at, "extra")) end
    c.limit = outer
  end
  sub:set_len(c.at - start)
end

local function beams(c, tree, e, first)
  local start = c.at
  local prgs = number(c, "u16", "num_prgs")
  local size = number(c, "u16", "prg_size")
  local interfaces = number(c, "u8", "dig_bf_interfaces")
  range(c, 2 * prgs * (first + interfaces), "prgs")
  tree:add(e.f, c.tvb(start, c.at - start), prgs):append_text(" PRGs of " .. size .. " PRB, " .. interfaces .. " beams each")
end

local function txvalue(c, tree, e, vals)
  if vals.tag == 2 then
    tree:add(e.f, range(c, 4, "offset")):append_text(" (offset)")
    return
  end
  local n = 4 * math.floor((vals.length + 3) / 4)
  if c.profile == 2 and vals.tag == 1 and c.at + 4 * vals.length <= c.limit then n = 4 * vals.length end
  if n > 0 then tree:add(e.f, range(c, n, "payload")):append_text(c.little and "" or " (32-bit words, octets reversed)") end
end

local function tlvs(c, tree, scope)
  while c.at < c.limit do
    local start = c.at
    local tag, tr = number(c, "u16", "tag")
    local n = number(c, "u16", "length")
    local sub = tree:add(proto, c.tvb(start, 4), (tags[scope][tag] or "TLV") .. string.format(" (0x%04x)", tag))
    sub:add(pf.tag, tr, tag)
    if n > 0 then
      local r = range(c, n, "value")
      sub:add(pf.value, r)
      if n == 1 or n == 2 or n == 4 then sub:append_text(": " .. (c.little and r:le_uint() or r:uint())) end
    end
    if tag == 5 and n == 2 and scope == "phy" and c.message == 1 then
      local entries = c.little and c.tvb(c.at - 2, 2):le_uint() or c.tvb(c.at - 2, 2):uint()
      range(c, math.min(2, c.limit - c.at), "padding")
      for _ = 1, entries do
        if c.at + 4 > c.limit then error({ what = "config_tlvs_to_report_list", at = c.at }) end
        local size = c.tvb(c.at + 2, 1):uint()
        range(c, 4 + (-size) % 4, "config_tlvs_to_report_list")
      end
    else
      range(c, math.min((-n) % 4, c.limit - c.at), "padding")
    end
    sub:set_len(c.at - start)
  end
end

local function elements(c, tree, name, n, vals)
  for i = 1, n do
    if unions[name] then
      union(c, tree, name)
    else
      local start = c.at
      local sub = tree:add(proto, c.tvb(start, 0), name .. " " .. (i - 1))
      walk(c, sub, structs[name], { outer = vals })
      sub:set_len(c.at - start)
    end
  end
end

local function one(c, tree, e, vals)
  local kind = e.k
  if type(kind) == "table" then kind = kind[c.profile] end
  if kind == "-" then return end
  local base_kind, arg = kind:match("^([^:]+):?(.*)$")
  if numbers[base_kind] then
    local v, r = number(c, base_kind, e.n)
    tree:add(e.f, r, v)
    vals[e.n] = v
    if base_kind:sub(1, 5) == "count" then
      vals["#" .. arg] = v
      vals[0] = v
    end
  elseif base_kind == "octets" then
    tree:add(e.f, range(c, tonumber(arg), e.n))
  elseif base_kind == "string" then
    local n = amount(arg, vals)
    if n > 0 then tree:add(e.f, range(c, n, e.n)) end
  elseif base_kind == "u8s" or base_kind == "harqs" or base_kind == "ues" or base_kind == "u16s" or base_kind == "u32s" then
    local width = ({ u16s = "u16", u32s = "u32" })[base_kind] or "u8"
    for _ = 1, amount(arg, vals) do
      local v, r = number(c, width, e.n)
      tree:add(e.f, r, v)
    end
  elseif base_kind == "group" then
    local start = c.at
    local sub = tree:add(proto, c.tvb(start, 0), e.n)
    walk(c, sub, structs[arg], { outer = vals })
    sub:set_len(c.at - start)
  elseif base_kind == "list" or base_kind == "pdus" then
    elements(c, tree, arg, vals["#" .. e.g], vals)
  elseif base_kind == "array" then
    local name, formula = arg:match("^(%w+):%d+:(.*)$")
    elements(c, tree, name, amount(formula, vals), vals)
  elseif base_kind == "beamtx" then
    beams(c, tree, e, 1)
  elseif base_kind == "beamrx" then
    beams(c, tree, e, 0)
  elseif base_kind == "dcipayload" then
    local n = math.floor((vals.PayloadSizeBits + 7) / 8)
    if n > 0 then tree:add(e.f, range(c, n, e.n)) end
  elseif base_kind == "txvalue" then
    txvalue(c, tree, e, vals)
  elseif base_kind == "srsvalue" then
    local n = c.profile == 2 and vals.length or math.floor((vals.length + 3) / 4)
    if n > 0 then tree:add(e.f, range(c, 4 * n, e.n)) end
  elseif base_kind == "tlvs" then
    tlvs(c, tree, c.scope)
  end
end

walk = function(c, tree, list, vals)
  for _, e in ipairs(list) do
    if e.c then
      local v = vals[e.c] or 0
      if (e.x and c.profile == 2 and v == e.m) or (not (e.x and c.profile == 2) and bit(v, e.m)) then walk(c, tree, e.b, vals) end
    elseif e.r then
      for _ = 1, vals[e.r] do walk(c, tree, e.b, vals) end
    else
      one(c, tree, e, vals)
    end
  end
end

-- body dissects what is behind the header.
local function body(c, tree, id, pinfo)
  local m = messages[id]
  pinfo.cols.info = m and m.name or string.format("message 0x%04x", id)
  if not m then
    if c.at < c.limit then tree:add(pf.octets, range(c, c.limit - c.at, "body")) end
    return
  end
  c.scope, c.message = m.scope, id
  local vals = {}
  local sub = tree:add(proto, c.tvb(c.at, c.limit - c.at), m.name)
  local ok, err = pcall(walk, c, sub, structs[m.struct], vals)
  local sfn, slot = vals.sfn or vals.SFN, vals.slot or vals.Slot
  if sfn and slot then pinfo.cols.info:append(" " .. sfn .. "." .. slot) end
  if not ok then
    if type(err) ~= "table" then error(err) end
    sub:add_proto_expert_info(truncated, "truncated: " .. err.what .. " at octet " .. err.at)
    pinfo.cols.info:append(" [truncated: " .. err.what .. "]")
  elseif c.at < c.limit then
    sub:add(pf.octets, range(c, c.limit - c.at, "trailing"))
  end
end

-- header finds out which generation it is: header length, profile, little endian.
local function p7_header(tvb)
  local n = tvb:len()
  if n >= 18 and tvb(4, 4):uint() == n then return 18, 1, false end
  if n >= 16 and tvb(4, 2):uint() == n then return 16, 2, false end
  if n >= 8 and tvb(0, 1):uint() == 1 and tvb(4, 4):le_uint() == n - 8 then return 8, 3, true end
  if n >= 8 and tvb(0, 1):uint() == 1 and tvb(4, 4):uint() == n - 8 then return 8, 1, false end
  if n >= 18 and tvb(4, 4):le_uint() == n then return 18, 3, true end
end

local function p7_known(tvb)
  local n, _, little = p7_header(tvb)
  return n and messages[little and tvb(2, 2):le_uint() or tvb(2, 2):uint()]
end

-- joined finds out how long each of several datagrams is that were captured before the
-- kernel of the sender cut them (UDP_SEGMENT): all but the last have the same length.
local function joined(tvb)
  if tvb:len() < 8 then return end
  for _, size in ipairs({ tvb(4, 4):uint(), tvb(4, 2):uint() }) do
    local at = 0
    while size >= 8 and size < tvb:len() and at < tvb:len() do
      if not p7_known(tvb(at, math.min(size, tvb:len() - at)):tvb()) then break end
      at = at + size
    end
    if at >= tvb:len() then return size end
  end
end

local profiles = { "oai-2025", "oai-2024", "aerial" }

local function p7(tvb, pinfo, root)
  local n, profile, little = p7_header(tvb)
  if not n then
    local size = joined(tvb)
    if not size then return 0 end
    local names = {}
    for at = 0, tvb:len() - 1, size do
      local piece = tvb(at, math.min(size, tvb:len() - at)):tvb()
      p7(piece, pinfo, root)
      names[#names + 1] = messages[piece(2, 2):uint()].name
    end
    pinfo.cols.info = table.concat(names, ", ")
    return tvb:len()
  end
  pinfo.cols.protocol = "nFAPI P7"
  local tree = root:add(proto, tvb(), "5G nFAPI P7")
  tree:add(pf.profile, profiles[profile]):set_generated()
  local c = { tvb = tvb, at = n, limit = tvb:len(), profile = profile, little = little }
  local u16 = function(at) return little and tvb(at, 2):le_uint() or tvb(at, 2):uint() end
  local id = u16(2)
  tree:add(pf.id, tvb(2, 2), id)
  if n == 8 then
    body(c, tree, id, pinfo)
    return tvb:len()
  end
  tree:add(pf.phy, tvb(0, 2), u16(0))
  local mss = u16(n - 10)
  tree:add(pf.more, tvb(n - 10, 1), mss >= 32768)
  tree:add(pf.segment, tvb(n - 10, 1), math.floor(mss / 256) % 128)
  tree:add(pf.sequence, tvb(n - 9, 1), mss % 256)
  tree:add(pf.checksum, tvb(n - 8, 4), little and tvb(n - 8, 4):le_uint() or tvb(n - 8, 4):uint())
  tree:add(pf.timestamp, tvb(n - 4, 4), little and tvb(n - 4, 4):le_uint() or tvb(n - 4, 4):uint())
  if mss >= 256 then
    pinfo.cols.info = string.format("segment %d of message 0x%04x", math.floor(mss / 256) % 128, id)
    tree:add(pf.octets, tvb(n))
    return tvb:len()
  end
  body(c, tree, id, pinfo)
  return tvb:len()
end

-- p5_length is how many octets the message at the beginning has, and its header.
local function p5_header(tvb)
  if tvb:len() < 8 then return end
  local id = tvb(2, 2):uint()
  if messages[id] and tvb:len() >= 10 and tvb(4, 2):uint() == 0 and tvb(8, 2):uint() == 0 and not (tvb(4, 4):uint() == 0 and tvb:len() == 8) then
    return 10, 10 + tvb(4, 4):uint(), 1
  end
  return 8, 8 + tvb(4, 2):uint(), 2
end

local function p5(tvb, pinfo, root)
  local at = 0
  while at < tvb:len() do
    local rest = tvb(at):tvb()
    local n, total, profile = p5_header(rest)
    if n and total > 1048576 then return at end -- no message: do not wait for the rest of it
    if not n or rest:len() < total then
      pinfo.desegment_offset = at
      pinfo.desegment_len = n and total - rest:len() or DESEGMENT_ONE_MORE_SEGMENT
      return tvb:len()
    end
    pinfo.cols.protocol = "nFAPI P5"
    local tree = root:add(proto, rest(0, total), "5G nFAPI P5")
    tree:add(pf.profile, profiles[profile]):set_generated()
    tree:add(pf.phy, rest(0, 2))
    tree:add(pf.id, rest(2, 2))
    tree:add(pf.length, rest(4, n - 6))
    body({ tvb = rest, at = n, limit = total, profile = profile, little = false }, tree, rest(2, 2):uint(), pinfo)
    at = at + total
  end
  return tvb:len()
end

function proto.dissector(tvb, pinfo, root)
  if pinfo.port_type == 1 or pinfo.port_type == 2 then return p5(tvb, pinfo, root) end
  return p7(tvb, pinfo, root)
end

proto:register_heuristic("udp", function(tvb, pinfo, root)
  if not p7_known(tvb) and not joined(tvb) then return false end
  p7(tvb, pinfo, root)
  return true
end)

for _, port in ipairs({ 50010, 50011 }) do DissectorTable.get("udp.port"):add(port, proto) end
for _, port in ipairs({ 50000, 50001 }) do
  DissectorTable.get("tcp.port"):add(port, proto)
  DissectorTable.get("sctp.port"):add(port, proto) -- in UDP, too: Wireshark puts fragments together
end
