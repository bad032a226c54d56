package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nanobot/config"
)

func TestFindCgroup(t *testing.T) {
	root := t.TempDir()
	own := filepath.Join(root, "system.slice/nanobot.service")
	must(t, os.MkdirAll(own, 0o755))
	for name, content := range map[string]string{
		"mountinfo": "25 30 0:22 / /proc rw - proc proc rw\n30 25 0:26 / " + root + " rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
		"v1":        "30 25 0:26 / " + root + " rw - cgroup cgroup rw,memory\n",
		"cgroup":    "1:name=systemd:/\n0::/system.slice/nanobot.service\n",
	} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o644))
	}
	at := func(name string) string { return filepath.Join(root, name) }
	if c := findCgroup(at("v1"), at("cgroup")); c.dir != "" {
		t.Errorf("found %+v without a version 2 hierarchy", c)
	}
	limited := config.Limits{Memory: 64, Processes: 9}
	if c := findCgroup(at("mountinfo"), at("cgroup")); c.dir != own || c.writable || c.lacks(limited) != "terminal.limits.memory" || c.lacks(config.Limits{}) != "" {
		t.Errorf("found %+v where there is no cgroup.procs", c)
	}
	must(t, os.WriteFile(filepath.Join(own, "cgroup.procs"), nil, 0o644))
	must(t, os.WriteFile(filepath.Join(own, "cgroup.controllers"), []byte("cpu memory\n"), 0o644))
	if c := findCgroup(at("mountinfo"), at("cgroup")); !c.writable || !slices.Equal(c.controllers, []string{"cpu", "memory"}) || c.lacks(limited) != "terminal.limits.processes" {
		t.Errorf("found %+v", c)
	}
	if c := findCgroup(at("gone"), at("gone")); c.dir != "" {
		t.Errorf("found %+v without /proc", c)
	}
}
