//go:build !linux

package doctor

func (d *doctor) checkKernel() {
	d.add("kernel", good("this is not Linux, so only rlimits apply to agents"))
}
