package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// rssUnit is what the kernel counts a child's memory in.
const rssUnit = 1 << 10

// liveUsage asks for a process that is not reaped.
func liveUsage(pid int) (u Usage) {
	p, _ := look(pid)
	u.CPU = p.cpu
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, rest, ok := bytes.Cut(b, []byte("\nVmHWM:")); ok {
		fields := bytes.Fields(rest)
		kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
		u.Memory = kib << 10
	}
	return u
}
