package n4load

import (
	"context"
	"fmt"

	"github.com/plumbline-upf/plumbline/pfcp"
)

// Associate sets the association up and returns what the UP function can do.
// Errors are those of Establish.
func (c *Client) Associate(ctx context.Context) (pfcp.UPFunctionFeatures, error) {
	j := &associating{m: pfcp.AssociationSetupRequest{
		NodeID: c.config.NodeID, RecoveryTimeStamp: c.group.started, CPFunctionFeatures: pfcp.Some(pfcp.CPFunctionFeatures(0)),
	}}
	if _, err := c.bulk(ctx, 1, j); err != nil {
		return j.got.UPFunctionFeatures.Value, fmt.Errorf("association with %s: %w", c.config.Remote, err)
	}
	c.recovery.Store(uint32(j.got.RecoveryTimeStamp))
	return j.got.UPFunctionFeatures.Value, nil
}

// Recovery returns the Recovery Time Stamp with which the UP function has accepted the last
// association: another one in a heartbeat says that it has lost its sessions since.
func (c *Client) Recovery() pfcp.TimeStamp { return pfcp.TimeStamp(c.recovery.Load()) }

type associating struct {
	m   pfcp.AssociationSetupRequest
	got pfcp.AssociationSetupResponse
}

func (j *associating) request(int) (uint64, pfcp.Message) { return 0, &j.m }

func (j *associating) response(_ int, _ pfcp.Header, body []byte) (pfcp.Cause, error) {
	err := j.got.Decode(body)
	j.got.UserPlaneIPResourceInfo = nil // a view of the datagram
	return j.got.Cause, err
}

func (j *associating) explain(_ int, cause pfcp.Cause, err error) error {
	return refusal{}.text("set up association", cause, err)
}

// Release releases the association; the UP function deletes its sessions.
// Errors are those of Establish.
func (c *Client) Release(ctx context.Context) error {
	_, err := c.bulk(ctx, 1, &releasing{m: pfcp.AssociationReleaseRequest{NodeID: c.config.NodeID}})
	return err
}

type releasing struct {
	m   pfcp.AssociationReleaseRequest
	got pfcp.AssociationReleaseResponse
}

func (j *releasing) request(int) (uint64, pfcp.Message) { return 0, &j.m }

func (j *releasing) response(_ int, _ pfcp.Header, body []byte) (pfcp.Cause, error) {
	err := j.got.Decode(body)
	return j.got.Cause, err
}

func (j *releasing) explain(_ int, cause pfcp.Cause, err error) error {
	return refusal{}.text("release association", cause, err)
}

// Heartbeat asks the UP function whether it is there and returns its Recovery Time Stamp.
// Errors are those of Establish: [ErrNoResponse] after N1 transmissions.
//
// Source: TS 29.244 V18.6.0, 6.2.2.
func (c *Client) Heartbeat(ctx context.Context) (pfcp.TimeStamp, error) {
	j := &beating{m: pfcp.HeartbeatRequest{RecoveryTimeStamp: c.group.started}}
	_, err := c.bulk(ctx, 1, j)
	return j.got.RecoveryTimeStamp, err
}

type beating struct {
	m   pfcp.HeartbeatRequest
	got pfcp.HeartbeatResponse
}

func (j *beating) request(int) (uint64, pfcp.Message) { return 0, &j.m }

// response takes the answer for acceptance: it has no Cause.
func (j *beating) response(_ int, _ pfcp.Header, body []byte) (pfcp.Cause, error) {
	return pfcp.CauseRequestAccepted, j.got.Decode(body)
}

func (j *beating) explain(_ int, cause pfcp.Cause, err error) error {
	return refusal{}.text("heartbeat", cause, err)
}
