//go:build !linux

package doctor

func (d *doctor) checkKernel() {
	d.reportOK("kernel", "this is not Linux, so only rlimits apply to agents")
}
