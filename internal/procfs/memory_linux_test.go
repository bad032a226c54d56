package procfs_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/internal/procfs"
	"nanobot/internal/wanttest"
)

func TestTheMemoryOfAProcessIsThatOfItsDescendantsToo(t *testing.T) {
	const size = 32_000_000
	for _, script := range []string{"%s", "sh -c '%s' & wait", "setsid sh -c '%s' & wait"} {
		fill := fmt.Sprintf(`x=$(head -c %d /dev/zero | tr "\\0" x); echo up; read -r line <&3`, size)
		cmd := exec.Command("sh", "-c", "exec 3<&0; "+fmt.Sprintf(script, fill))
		in, out := musttest.Get(cmd.StdinPipe())(t), musttest.Get(cmd.StdoutPipe())(t)
		musttest.Do(t, cmd.Start())
		musttest.Get(bufio.NewReader(out).ReadString('\n'))(t)
		if got := procfs.TreeMemory(cmd.Process.Pid); got < size || got > 5*size {
			t.Errorf("%s: %d bytes, want about %d", script, got, size)
		}
		in.Close()
		_ = cmd.Wait()
		wanttest.Equal(t, "bytes after its end:", procfs.TreeMemory(cmd.Process.Pid), 0)
	}
}

func TestPagesOfFilesAreNotCounted(t *testing.T) {
	const size = 64 << 20
	f := musttest.Get(os.CreateTemp(t.TempDir(), ""))(t)
	defer f.Close()
	musttest.Do(t, f.Truncate(size))
	before := procfs.TreeMemory(os.Getpid())
	pages := musttest.Get(unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE))(t)
	after := procfs.TreeMemory(os.Getpid())
	musttest.Do(t, unix.Munmap(pages))
	if before == 0 || after-before > size/2 {
		t.Errorf("%d bytes became %d", before, after)
	}
}

func TestTheUsableMemoryIsThatOfTheMachineOrTheLeastLimitOfACgroup(t *testing.T) {
	const machine = "MemTotal:       16343964 kB\nMemFree:         4000000 kB\n"
	for _, tc := range []struct {
		meminfo, service, slice string // the limits of our cgroup and of the one above it
		want                    int64
	}{
		{machine, "max\n", "max\n", 16343964 << 10},
		{machine, "1073741824\n", "max\n", 1 << 30},
		{machine, "max\n", "2147483648\n", 2 << 30},
		{machine, "", "2147483648\n", 2 << 30},
		{machine, "1099511627776\n", "max\n", 16343964 << 10},
		{"", "1073741824\n", "max\n", 1 << 30},
		{"", "max\n", "max\n", 0},
	} {
		dir := t.TempDir()
		service := filepath.Join(dir, "slice", "service")
		musttest.Do(t, os.MkdirAll(service, 0o755))
		for path, text := range map[string]string{
			dir + "/meminfo": tc.meminfo, service + "/cgroup.controllers": "memory\n", dir + "/slice/cgroup.controllers": "memory\n",
			service + "/memory.max": tc.service, dir + "/slice/memory.max": tc.slice, dir + "/memory.max": "1\n", // no cgroup
		} {
			musttest.Do(t, os.WriteFile(path, []byte(text), 0o600))
		}
		wanttest.Equal(t, fmt.Sprintf("usable memory in %+v:", tc), procfs.UsableMemoryIn(dir+"/meminfo", service), tc.want)
	}
	if got := procfs.UsableMemory(); got < 64<<20 {
		t.Errorf("this machine has %d bytes", got)
	}
}
