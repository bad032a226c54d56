package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/process"
)

// newCgroupSupervisor returns a supervisor with cgroups, and their folder.
func newCgroupSupervisor(t *testing.T) (supervisor *process.Supervisor, base string) {
	t.Helper()
	supervisor = process.NewSupervisor(process.SupervisorOptions{})
	t.Cleanup(supervisor.Close)
	_, base, ok := strings.Cut(supervisor.Describe(), " under ")
	if !ok {
		t.Skip(supervisor.Describe())
	}
	return supervisor, base
}

// writeCgroupFile writes a value to a file of a cgroup.
func writeCgroupFile(t *testing.T, value string, path ...string) {
	t.Helper()
	musttest.Do(t, os.WriteFile(filepath.Join(path...), []byte(value), 0))
}

// cgroupOfChild runs a child and returns the cgroup that the child prints.
func cgroupOfChild(t *testing.T, supervisor *process.Supervisor) string {
	t.Helper()
	c := startSupervised(t, supervisor, "sed -n s/^0:://p /proc/self/cgroup")
	said := strings.TrimSpace(readAll(t, c))
	if e := c.Wait(); !e.OK() {
		t.Errorf("exit %+v", e)
	}
	return said
}

func TestAChildIsNotStartedWithoutItsLimits(t *testing.T) {
	limited := process.Options{Args: []string{"true"}, Processes: 5}
	none := process.NewSupervisor(process.SupervisorOptions{NoCgroups: true})
	defer none.Close()
	for _, supervisor := range []*process.Supervisor{nil, none} {
		limited.Supervisor = supervisor
		if _, err := process.Start(limited); err == nil {
			t.Errorf("%s: it was started", supervisor.Describe())
		}
	}
	supervisor, base := newCgroupSupervisor(t)
	limited.Supervisor = supervisor
	if _, can := supervisor.CanLimit(); !can {
		if _, err := process.Start(limited); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("without what counts processes: %v", err)
		}
	}
	writeCgroupFile(t, "0", base, "cgroup.max.descendants")
	if _, err := process.Start(limited); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("without a group: %v", err)
	}
}

func TestAChildWithoutLimitsMayStartWithoutACgroup(t *testing.T) {
	supervisor, base := newCgroupSupervisor(t)
	writeCgroupFile(t, "0", base, "cgroup.max.descendants")
	first := startSupervised(t, supervisor, "read -r line")
	if got := cgroupOfChild(t, supervisor); strings.Contains(got, filepath.Base(base)) {
		t.Errorf("there was a group: %s", got)
	}
	first.Kill()
	first.Wait()
}

func TestACgroupInWhichNothingCanBeStartedIsNotReused(t *testing.T) {
	supervisor, base := newCgroupSupervisor(t)
	if got := cgroupOfChild(t, supervisor); !strings.HasSuffix(got, "/1") {
		t.Fatalf("the first is in %s", got)
	}
	musttest.Do(t, unix.Rmdir(filepath.Join(base, "1")))
	if got := cgroupOfChild(t, supervisor); strings.Contains(got, filepath.Base(base)) {
		t.Errorf("the second is in %s", got)
	}
	if got := cgroupOfChild(t, supervisor); !strings.HasSuffix(got, "/2") {
		t.Errorf("the third is in %s", got)
	}
}

func TestAFrozenCgroupIsNotReused(t *testing.T) {
	supervisor, base := newCgroupSupervisor(t)
	c := startSupervised(t, supervisor, "echo $$ > "+filepath.Dir(base)+"/cgroup.procs; echo 1 > "+base+"/1/cgroup.freeze")
	readAll(t, c)
	if e := c.Wait(); !e.OK() {
		t.Skipf("it cannot freeze its group here: %s", e.Stderr)
	}
	if got := cgroupOfChild(t, supervisor); !strings.HasSuffix(got, "/2") {
		t.Errorf("the next is in %s", got)
	}
}

func TestOnCgroupEmptyIsCalledWhenNoProcessIsLeft(t *testing.T) {
	supervisor, _ := newCgroupSupervisor(t)
	for script, want := range map[string]bool{"echo hi": true, "sleep 300 & echo hi": false} {
		empty := make(chan struct{}, 1)
		c := musttest.Get(process.Start(process.Options{
			Args: []string{"/bin/sh", "-c", script}, Supervisor: supervisor, Grace: 50 * time.Millisecond,
			OnCgroupEmpty: func() { empty <- struct{}{} },
		}))(t)
		if want {
			<-empty // before anything is read
		}
		wanttest.Equal(t, script+": it says", readAll(t, c), "hi\n")
		c.Wait()
		if !want && len(empty) > 0 {
			t.Errorf("%s: told that nothing is left", script)
		}
	}
}
