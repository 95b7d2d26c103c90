package pfcp

// number32 states a number that may be absent.
func (f facts) number32(t IEType, field string, v Optional[uint32]) {
	if v.Present {
		f.ie(t).is(field, v.Value)
	}
}

func (f facts) stamp(t IEType, field string, v Optional[TimeStamp]) {
	if v.Present {
		f.ie(t).is(field, uint32(v.Value))
	}
}

func (f facts) volume(t IEType, v Optional[Volume]) {
	if v.Present {
		f.ie(t).volumes(v.Value.Total, v.Value.Uplink, v.Value.Downlink)
	}
}

func (f facts) volumes(total, uplink, downlink Optional[uint64]) {
	for field, v := range map[string]Optional[uint64]{"total": total, "uplink": uplink, "downlink": downlink} {
		if v.Present {
			f.is(field, v.Value)
		}
	}
}

func (f facts) createURR(v *CreateURR) {
	f = f.ie(IECreateURR)
	f.id(IEURRID, v.URRID)
	g := f.ie(IEMeasurementMethod)
	g.is("DURAT", number(v.MeasurementMethod&MeasureDURAT != 0))
	g.is("VOLUM", number(v.MeasurementMethod&MeasureVOLUM != 0))
	g.is("EVENT", number(v.MeasurementMethod&MeasureEVENT != 0))
	g = f.ie(IEReportingTriggers)
	g.is("periodic_reporting", number(v.ReportingTriggers&ReportPERIO != 0))
	g.is("volume_threshold", number(v.ReportingTriggers&ReportVOLTH != 0))
	g.is("time_threshold", number(v.ReportingTriggers&ReportTIMTH != 0))
	g.is("linked_usage_reporting", number(v.ReportingTriggers&ReportLIUSA != 0))
	g.is("volume_quota", number(v.ReportingTriggers&ReportVOLQU != 0))
	f.urrParameters(&v.URRParameters)
}

// updateURR states the parameters of an update; its samples have both or none
// of method and triggers.
func (f facts) updateURR(v *UpdateURR) {
	f = f.ie(IEUpdateURR)
	f.id(IEURRID, v.URRID)
	if v.MeasurementMethod.Present {
		g := f.ie(IEMeasurementMethod)
		g.is("DURAT", number(v.MeasurementMethod.Value&MeasureDURAT != 0))
		g.is("VOLUM", number(v.MeasurementMethod.Value&MeasureVOLUM != 0))
		g.is("EVENT", number(v.MeasurementMethod.Value&MeasureEVENT != 0))
		g = f.ie(IEReportingTriggers)
		for _, name := range []string{"periodic_reporting", "volume_threshold", "time_threshold", "linked_usage_reporting", "volume_quota"} {
			g.is(name, 0)
		}
	}
	f.urrParameters(&v.URRParameters)
}

func (f facts) created(list []CreatedTrafficEndpoint) {
	for _, v := range list {
		g := f.ie(IECreatedTrafficEndpoint)
		g.id(IETrafficEndpointID, uint32(v.TrafficEndpointID))
		for _, t := range v.LocalFTEIDs {
			g.fteid(t)
		}
		for _, a := range v.UEIPAddresses {
			g.ueip(a)
		}
	}
}

func (f facts) urrParameters(v *URRParameters) {
	f.number32(IEMeasurementPeriod, "period", v.MeasurementPeriodS)
	f.volume(IEVolumeThreshold, v.VolumeThreshold)
	f.volume(IEVolumeQuota, v.VolumeQuota)
	f.number32(IETimeThreshold, "threshold", v.TimeThresholdS)
	f.number32(IETimeQuota, "quota", v.TimeQuotaS)
	f.number32(IEEventThreshold, "event_threshold", v.EventThreshold)
	f.number32(IEEventQuota, "event_quota", v.EventQuota)
	f.number32(IEQuotaHoldingTime, "time_value", v.QuotaHoldingTimeS)
	if d := v.DroppedDLTrafficThreshold; d.Present {
		g := f.ie(IEDroppedDLTrafficThreshold)
		g.is("packet_count", d.Value.Packets.Value)
		g.is("byte_count", d.Value.Octets.Value)
	}
	f.stamp(IEMonitoringTime, "time_value", v.MonitoringTime)
	f.volume(IESubsequentVolumeThreshold, v.SubsequentVolumeThreshold)
	f.number32(IESubsequentTimeThreshold, "threshold", v.SubsequentTimeThresholdS)
	f.volume(IESubsequentVolumeQuota, v.SubsequentVolumeQuota)
	f.number32(IESubsequentTimeQuota, "quota", v.SubsequentTimeQuotaS)
	f.number32(IEInactivityDetectionTime, "time_value", v.InactivityDetectionTimeS)
	f.ids(IELinkedURRID, v.LinkedURRIDs)
	if i := v.MeasurementInformation; i.Present {
		g := f.ie(IEMeasurementInformation)
		g.is("MBQE", number(i.Value&MeasurementMBQE != 0))
		g.is("MNOP", number(i.Value&MeasurementMNOP != 0))
		g.is("ISTM", number(i.Value&MeasurementISTM != 0))
	}
	if v.FARIDForQuotaAction.Present {
		f.id(IEFARID, v.FARIDForQuotaAction.Value)
	}
	for _, a := range v.AdditionalMonitoringTimes {
		g := f.ie(IEAdditionalMonitoringTime)
		g.ie(IEMonitoringTime).is("time_value", uint32(a.MonitoringTime))
		g.volume(IESubsequentVolumeThreshold, a.SubsequentVolumeThreshold)
		g.number32(IESubsequentTimeThreshold, "threshold", a.SubsequentTimeThresholdS)
		g.volume(IESubsequentVolumeQuota, a.SubsequentVolumeQuota)
		g.number32(IESubsequentTimeQuota, "quota", a.SubsequentTimeQuotaS)
		g.number32(IEEventThreshold, "event_threshold", a.EventThreshold)
		g.number32(IEEventQuota, "event_quota", a.EventQuota)
	}
}

func (f facts) usage(t IEType, list []UsageReport) {
	for _, v := range list {
		g := f.ie(t)
		g.id(IEURRID, v.URRID)
		g.ie(IEURSEQN).is("number", v.URSEQN)
		h := g.ie(IEUsageReportTrigger)
		h.is("IMMER", number(v.Trigger&TriggerIMMER != 0))
		h.is("VOLTH", number(v.Trigger&TriggerVOLTH != 0))
		h.is("TERMR", number(v.Trigger&TriggerTERMR != 0))
		h.is("LIUSA", number(v.Trigger&TriggerLIUSA != 0))
		g.stamp(IEStartTime, "timestamp", v.StartTime)
		g.stamp(IEEndTime, "timestamp", v.EndTime)
		if m := v.Volume; m.Present {
			g.ie(IEVolumeMeasurement).volumes(m.Value.Total, m.Value.Uplink, m.Value.Downlink)
		}
		g.number32(IEDurationMeasurement, "duration", v.DurationS)
		g.stamp(IETimeOfFirstPacket, "timestamp", v.TimeOfFirstPacket)
		g.stamp(IETimeOfLastPacket, "timestamp", v.TimeOfLastPacket)
		if v.UsageInformation != 0 {
			g.ie(IEUsageInformation).is("BEF", number(v.UsageInformation&UsageBEF != 0))
		}
		g.number32(IEQueryURRReference, "reference", v.QueryURRReference)
		if v.UEIPAddress.Present {
			g.ueip(v.UEIPAddress.Value)
		}
		g.name(IENetworkInstance, "instance", v.NetworkInstance)
	}
}

func (f facts) additional(v Optional[AdditionalUsageReports]) {
	if v.Present {
		g := f.ie(IEAdditionalUsageReportsInformation)
		g.is("AURI", number(v.Value.AURI))
		g.is("reports", v.Value.Count)
	}
}

func (f facts) load(l Optional[LoadControl], o Optional[OverloadControl]) {
	if l.Present {
		g := f.ie(IELoadControlInformation)
		g.ie(IESequenceNumber).is("number", l.Value.SequenceNumber)
		g.ie(IEMetric).is("metric", uint8(l.Value.Metric))
	}
	if o.Present {
		g := f.ie(IEOverloadControlInformation)
		g.ie(IESequenceNumber).is("number", o.Value.SequenceNumber)
		g.ie(IEMetric).is("metric", uint8(o.Value.Metric))
		g.timer(IETimer, "timer_unit", "timer_value", o.Value.PeriodOfValidity)
		if o.Value.Flags != 0 {
			g.ie(IEOCIFlags).is("AOCI", number(o.Value.Flags&OCIAOCI != 0))
		}
	}
}

func (f facts) timer(t IEType, unit, value string, v Timer) {
	g := f.ie(t)
	g.is(unit, uint8(v>>timerShift))
	g.is(value, uint8(v&timerMask))
}

func (f facts) bar(t IEType, v *BAR) {
	f = f.ie(t)
	f.id(IEBARID, uint32(v.BARID))
	if v.NotificationDelay.Present {
		f.ie(IEDownlinkDataNotificationDelay).is("delay", uint8(v.NotificationDelay.Value))
	}
	if v.BufferingDuration.Present {
		f.timer(IEDLBufferingDuration, "timer_unit", "timer_value", v.BufferingDuration.Value)
	}
	if v.BufferingSuggestedPackets.Present {
		f.ie(IEDLBufferingSuggestedPacketCount).is("count", v.BufferingSuggestedPackets.Value)
	}
	if v.SuggestedBufferingPackets.Present {
		f.ie(IESuggestedBufferingPacketsCount).is("count", v.SuggestedBufferingPackets.Value)
	}
}

func (f facts) trafficEndpoint(t IEType, v *TrafficEndpoint) {
	f = f.ie(t)
	f.id(IETrafficEndpointID, uint32(v.TrafficEndpointID))
	if v.FTEID.Present {
		f.fteid(v.FTEID.Value)
	}
	f.name(IENetworkInstance, "instance", v.NetworkInstance)
	for _, a := range v.UEIPAddresses {
		f.ueip(a)
	}
	f.interfaceType(v.InterfaceType)
}

func (f facts) sessionReport(m *SessionReportRequest) {
	g := f.ie(IEReportType)
	g.is("DLDR", number(m.ReportType&ReportTypeDLDR != 0))
	g.is("USAR", number(m.ReportType&ReportTypeUSAR != 0))
	g.is("ERIR", number(m.ReportType&ReportTypeERIR != 0))
	g.is("UPIR", number(m.ReportType&ReportTypeUPIR != 0))
	if d := &m.DownlinkData.Value; m.DownlinkData.Present {
		g = f.ie(IEDownlinkDataReport)
		for _, id := range d.PDRIDs {
			g.id(IEPDRID, uint32(id))
		}
		for _, info := range d.ServiceInfos {
			h := g.ie(IEDownlinkDataServiceInformation)
			h.is("ppi_val", info.PPI.Value)
			h.is("qfi_val", info.QFI.Value)
		}
	}
	f.usage(IEUsageReportReport, m.UsageReports)
	if len(m.ErrorIndication) > 0 {
		g = f.ie(IEErrorIndicationReport)
		for _, t := range m.ErrorIndication {
			g.fteid(t)
		}
	}
	f.load(m.LoadControl, m.OverloadControl)
	f.additional(m.AdditionalUsageReports)
}

func (f facts) peers(t IEType, list []RemoteGTPUPeer) {
	if len(list) == 0 {
		return
	}
	f = f.ie(t)
	for _, p := range list {
		f.ie(IERemoteGTPUPeer).addrs(p.IPv4, p.IPv6)
	}
}

func (f facts) fqCSIDs(list []FQCSID) {
	for _, v := range list {
		g := f.ie(IEFQCSID)
		g.is("num_csids", len(v.CSIDs))
		if v.Node.Addr.Is4() {
			g.is("ipv4", v.Node.Addr)
		}
	}
}

func (f facts) pfds(list []ApplicationPFDs) {
	for _, a := range list {
		g := f.ie(IEApplicationIDsPFDs)
		g.ie(IEApplicationID).is("id", string(a.ApplicationID))
		for _, c := range a.Contexts {
			h := g.ie(IEPFDContext)
			for _, p := range c.Contents {
				h.pfd(&p)
			}
		}
	}
}

func (f facts) pfd(p *PFDContents) {
	f = f.ie(IEPFDContents)
	for field, v := range map[string][]byte{
		"flow": p.FlowDescription, "url": p.URL, "domain": p.DomainName, "custom": p.CustomPFDContent, "dnp": p.DomainNameProtocol,
	} {
		if v != nil {
			f.is(field, string(v))
		}
	}
}
