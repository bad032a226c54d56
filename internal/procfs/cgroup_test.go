package procfs_test

import (
	"os"
	"path/filepath"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/procfs"
)

func TestOurOwnCgroupIsFound(t *testing.T) {
	const v1 = "36 31 0:33 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
	for _, tc := range []struct{ mounts, own, want string }{
		{"30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n", "0::/system.slice/bot.service\n", "/sys/fs/cgroup/system.slice/bot.service"},
		{v1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "4:memory:/x\n0::/\n", "/sys/fs/cgroup/unified"},
		{"30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/docker/abc/in\n", "/sys/fs/cgroup/in"},
		{"30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/elsewhere\n", ""},
		{"30 23 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n", "0::/../outside\n", ""},
		{v1, "4:memory:/x\n", ""},
		{v1, "0::/x\n", ""},
		{"", "", ""},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"mounts": tc.mounts, "own": tc.own} {
			musttest.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		if _, got, err := procfs.OwnCgroupIn(dir+"/mounts", dir+"/own"); got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%q, %q: %q, %v", tc.mounts, tc.own, got, err)
		}
	}
}
