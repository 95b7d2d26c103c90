package p4rt

import (
	"bytes"
	"context"

	p4 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// SetForwardingPipelineConfig checks a pipeline, and has frames go through it. Source: P4Runtime Specification v1.4.1, 14.
func (s *Server) SetForwardingPipelineConfig(_ context.Context, r *p4.SetForwardingPipelineConfigRequest) (*p4.SetForwardingPipelineConfigResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	//nolint:staticcheck // older controllers say the role's id
	if err := s.mayWrite(r.GetDeviceId(), r.GetRole(), r.GetRoleId(), readElection(r.GetElectionId())); err != nil {
		return nil, err
	}
	if err := s.setPipeline(r.GetAction(), r.GetConfig()); err != nil {
		return nil, err
	}
	return &p4.SetForwardingPipelineConfigResponse{}, nil
}

func (s *Server) setPipeline(action p4.SetForwardingPipelineConfigRequest_Action, c *p4.ForwardingPipelineConfig) error {
	switch action {
	case p4.SetForwardingPipelineConfigRequest_VERIFY:
		_, err := s.verify(c)
		return err
	case p4.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE:
		p, err := s.makePipeline(c)
		if err != nil {
			return err
		}
		s.saved = p
		return nil
	case p4.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT:
		p, err := s.makePipeline(c)
		if err != nil {
			return err
		}
		return s.run(p)
	case p4.SetForwardingPipelineConfigRequest_COMMIT:
		switch {
		case c != nil:
			return status.Error(codes.InvalidArgument, "COMMIT: want no configuration: the saved one is meant")
		case s.saved == nil:
			return status.Error(codes.NotFound, "COMMIT: no configuration is saved")
		}
		return s.run(s.saved)
	case p4.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT:
		return s.reconcile(c)
	}
	return status.Errorf(codes.InvalidArgument, "action %v: want VERIFY, VERIFY_AND_SAVE, VERIFY_AND_COMMIT, COMMIT or RECONCILE_AND_COMMIT", action)
}

// reconcile keeps the state if the program is the one that runs.
func (s *Server) reconcile(c *p4.ForwardingPipelineConfig) error {
	live := s.live.Load()
	if live == nil {
		p, err := s.makePipeline(c)
		if err != nil {
			return err
		}
		return s.run(p)
	}
	if _, err := s.verify(c); err != nil {
		return err
	}
	was := live.config
	if !bytes.Equal(was.GetP4DeviceConfig(), c.GetP4DeviceConfig()) || !proto.Equal(was.GetP4Info(), c.GetP4Info()) {
		return status.Error(codes.Unimplemented, "RECONCILE_AND_COMMIT of another program than the one that runs is not implemented")
	}
	live.config = c
	s.saved = nil
	return nil
}

// verify checks a configuration without making a state.
func (s *Server) verify(c *p4.ForwardingPipelineConfig) (*pipeline, error) {
	size := len(c.GetP4DeviceConfig())
	switch {
	case c == nil || c.GetP4Info() == nil || size == 0:
		return nil, status.Error(codes.InvalidArgument, "want a configuration with P4Info and BMv2 JSON (p4_device_config)")
	case size > s.config.MaxProgram:
		return nil, status.Errorf(codes.InvalidArgument, "p4_device_config: %d octets: want at most %d", size, s.config.MaxProgram)
	}
	program, err := s.target.Load(c.GetP4DeviceConfig())
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "p4_device_config: %v", err)
	}
	p, err := newPipeline(c.GetP4Info(), program)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "p4info: %v", err)
	}
	p.config = c
	return p, nil
}

func (s *Server) makePipeline(c *p4.ForwardingPipelineConfig) (*pipeline, error) {
	p, err := s.verify(c)
	if err != nil {
		return nil, err
	}
	if p.state, err = s.target.New(p.program); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "p4_device_config: %v", err)
	}
	return p, nil
}

// run has frames go through a pipeline.
func (s *Server) run(p *pipeline) error {
	if err := s.target.Run(p.state); err != nil {
		return status.Errorf(codes.Internal, "the pipeline does not run: %v", err)
	}
	s.live.Store(p)
	s.saved = nil
	s.log.Info("pipeline", "tables", len(p.tables), "octets", len(p.config.GetP4DeviceConfig()))
	return nil
}

// pipeline is the target of reads and writes: the saved pipeline, or the active one. s.mu must be held.
func (s *Server) pipeline() *pipeline {
	if s.saved != nil {
		return s.saved
	}
	return s.live.Load()
}

// GetForwardingPipelineConfig answers with the pipeline that reads and writes are about. Source:
// P4Runtime Specification v1.4.1, 15.
func (s *Server) GetForwardingPipelineConfig(_ context.Context, r *p4.GetForwardingPipelineConfigRequest) (*p4.GetForwardingPipelineConfigResponse, error) {
	if r.GetDeviceId() != s.config.DeviceID {
		return nil, status.Errorf(codes.NotFound, "device %d: here is device %d", r.GetDeviceId(), s.config.DeviceID)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.pipeline()
	if p == nil {
		return &p4.GetForwardingPipelineConfigResponse{}, nil
	}
	c := &p4.ForwardingPipelineConfig{Cookie: p.config.GetCookie()}
	switch r.GetResponseType() {
	case p4.GetForwardingPipelineConfigRequest_ALL:
		c.P4Info, c.P4DeviceConfig = p.config.GetP4Info(), p.config.GetP4DeviceConfig()
	case p4.GetForwardingPipelineConfigRequest_COOKIE_ONLY:
	case p4.GetForwardingPipelineConfigRequest_P4INFO_AND_COOKIE:
		c.P4Info = p.config.GetP4Info()
	case p4.GetForwardingPipelineConfigRequest_DEVICE_CONFIG_AND_COOKIE:
		c.P4DeviceConfig = p.config.GetP4DeviceConfig()
	default:
		return nil, status.Errorf(codes.InvalidArgument, "response type %v is not known", r.GetResponseType())
	}
	return &p4.GetForwardingPipelineConfigResponse{Config: c}, nil
}

// SetPipeline installs a pipeline without a controller, for example from a file, before or while the server serves.
//
// Errors: those that a controller would get.
func (s *Server) SetPipeline(c *p4.ForwardingPipelineConfig) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.setPipeline(p4.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, c)
}
