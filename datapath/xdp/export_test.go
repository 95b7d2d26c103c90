package xdp

// WithoutTCX lets TC attach as on a kernel without tcx.
func (c Config) WithoutTCX() Config {
	c.clsact = true
	return c
}
