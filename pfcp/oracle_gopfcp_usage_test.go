package pfcp

import (
	"testing"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
)

// goPFCPUsage states the IEs of URRs, BARs and reports.
func (f facts) goPFCPUsage(t *testing.T, i *ie.IE) {
	t.Helper()
	switch i.Type {
	case ie.MeasurementMethod:
		f.is("DURAT", number(i.HasDURAT()))
		f.is("VOLUM", number(i.HasVOLUM()))
		f.is("EVENT", number(i.HasEVENT()))
	case ie.ReportingTriggers:
		f.is("periodic_reporting", number(i.HasPERIO()))
		f.is("volume_threshold", number(i.HasVOLTH()))
		f.is("time_threshold", number(i.HasTIMTH()))
		f.is("linked_usage_reporting", number(i.HasLIUSA()))
		f.is("volume_quota", number(i.HasVOLQU()))
	case ie.UsageReportTrigger:
		f.is("IMMER", number(i.HasIMMER()))
		f.is("VOLTH", number(i.HasVOLTH()))
		f.is("TERMR", number(i.HasTERMR()))
		f.is("LIUSA", number(i.HasLIUSA()))
	case ie.VolumeThreshold:
		v, err := i.VolumeThreshold()
		f.goVolumes(t, err, v.Flags, v.TotalVolume, v.UplinkVolume, v.DownlinkVolume)
	case ie.SubsequentVolumeThreshold:
		v, err := i.SubsequentVolumeThreshold()
		f.goVolumes(t, err, v.Flags, v.TotalVolume, v.UplinkVolume, v.DownlinkVolume)
	case ie.VolumeQuota:
		v, err := i.VolumeQuota()
		f.goVolumes(t, err, v.Flags, v.TotalVolume, v.UplinkVolume, v.DownlinkVolume)
	case ie.SubsequentVolumeQuota:
		v, err := i.SubsequentVolumeQuota()
		f.goVolumes(t, err, v.Flags, v.TotalVolume, v.UplinkVolume, v.DownlinkVolume)
	case ie.VolumeMeasurement:
		v, err := i.VolumeMeasurement()
		f.goVolumes(t, err, v.Flags, v.TotalVolume, v.UplinkVolume, v.DownlinkVolume)
	case ie.MeasurementInformation:
		f.is("MBQE", number(i.HasMBQE()))
		f.is("MNOP", number(i.Payload[0]&0x10 != 0)) // go-pfcp knows the flag of UP Function Features only
		f.is("ISTM", number(i.HasISTM()))
	case ie.UsageInformation:
		f.is("BEF", number(i.HasBEF()))
	case ie.ReportType:
		f.is("DLDR", number(i.HasDLDR()))
		f.is("USAR", number(i.HasUSAR()))
		f.is("ERIR", number(i.HasERIR()))
		f.is("UPIR", number(i.HasUPIR()))
	case ie.NodeReportType:
		f.is("UPFR", number(i.HasUPFR()))
	case ie.AdditionalUsageReportsInformation:
		v, err := i.AdditionalUsageReportsInformation()
		f.fields(t, err, "AURI", number(i.HasAURI()))
		f.is("reports", v&^flagAURI)
	case ie.RemoteGTPUPeer:
		v, err := i.RemoteGTPUPeer()
		if err != nil {
			t.Fatal(err)
		}
		f.addrs(goAddr(v.IPv4Address), goAddr(v.IPv6Address))
	default:
		f.goPFCPUsageNumber(t, i)
	}
}

func (f facts) goVolumes(t *testing.T, err error, flags uint8, total, uplink, downlink uint64) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range []struct {
		field string
		value uint64
	}{{"total", total}, {"uplink", uplink}, {"downlink", downlink}} {
		if flags&(1<<i) != 0 {
			f.is(v.field, v.value)
		}
	}
}

// goPFCPUsageNumber states those that are one number or time.
func (f facts) goPFCPUsageNumber(t *testing.T, i *ie.IE) {
	t.Helper()
	switch i.Type {
	case ie.MeasurementPeriod:
		seconds(t, f, "period", i.MeasurementPeriod)
	case ie.TimeThreshold:
		seconds(t, f, "threshold", i.TimeThreshold)
	case ie.SubsequentTimeThreshold:
		seconds(t, f, "threshold", i.SubsequentTimeThreshold)
	case ie.TimeQuota:
		seconds(t, f, "quota", i.TimeQuota)
	case ie.SubsequentTimeQuota:
		seconds(t, f, "quota", i.SubsequentTimeQuota)
	case ie.QuotaHoldingTime:
		seconds(t, f, "time_value", i.QuotaHoldingTime)
	case ie.DurationMeasurement:
		seconds(t, f, "duration", i.DurationMeasurement)
	case ie.InactivityDetectionTime:
		value(t, f, "time_value", i.InactivityDetectionTime)
	case ie.EventThreshold:
		value(t, f, "event_threshold", i.EventThreshold)
	case ie.EventQuota:
		value(t, f, "event_quota", i.EventQuota)
	case ie.LinkedURRID:
		value(t, f, "id", i.LinkedURRID)
	case ie.TrafficEndpointID:
		value(t, f, "id", i.TrafficEndpointID)
	case ie.URSEQN:
		value(t, f, "number", i.URSEQN)
	case ie.SequenceNumber:
		value(t, f, "number", i.SequenceNumber)
	case ie.Metric:
		value(t, f, "metric", i.Metric)
	case ie.QueryURRReference:
		value(t, f, "reference", i.QueryURRReference)
	case ie.SuggestedBufferingPacketsCount:
		value(t, f, "count", i.SuggestedBufferingPacketsCount)
	case ie.DLBufferingSuggestedPacketCount:
		value(t, f, "count", i.DLBufferingSuggestedPacketCount)
	case ie.MonitoringTime:
		moment(t, f, "time_value", i.MonitoringTime)
	case ie.StartTime:
		moment(t, f, "timestamp", i.StartTime)
	case ie.EndTime:
		moment(t, f, "timestamp", i.EndTime)
	case ie.TimeOfFirstPacket:
		moment(t, f, "timestamp", i.TimeOfFirstPacket)
	case ie.TimeOfLastPacket:
		moment(t, f, "timestamp", i.TimeOfLastPacket)
	case ie.ApplicationID:
		f.text("id", i.ApplicationID)
	}
}

func seconds(t *testing.T, f facts, field string, get func() (time.Duration, error)) {
	t.Helper()
	v, err := get()
	f.fields(t, err, field, uint32(v/time.Second))
}

func moment(t *testing.T, f facts, field string, get func() (time.Time, error)) {
	t.Helper()
	v, err := get()
	f.fields(t, err, field, uint32(NewTimeStamp(v)))
}
