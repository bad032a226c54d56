//go:build !linux

package doctor

func (d *doctor) checkKernel() { d.ok("kernel", "not Linux: agents are limited by rlimits only") }
