package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nanobot/terminal/process"
)

// grouped returns a cage with control groups, and their folder.
func grouped(t *testing.T) (cage *process.Cage, base string) {
	t.Helper()
	cage = process.NewCage(process.CageOptions{})
	t.Cleanup(cage.Close)
	_, base, ok := strings.Cut(cage.About(), " under ")
	if !ok {
		t.Skip(cage.About())
	}
	return cage, base
}

// set writes into a file of a control group.
func set(t *testing.T, value string, path ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(path...), []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

// groupOf runs a child and returns what it says that its group is.
func groupOf(t *testing.T, cage *process.Cage) string {
	t.Helper()
	c := inCage(t, cage, "sed -n s/^0:://p /proc/self/cgroup")
	said := strings.TrimSpace(readAll(t, c))
	if e := c.Wait(); !e.OK() {
		t.Errorf("exit %+v", e)
	}
	return said
}

func TestWhatCannotBeBoundedIsNotStarted(t *testing.T) {
	limited := process.Options{Args: []string{"true"}, Processes: 5}
	none := process.NewCage(process.CageOptions{NoGroups: true})
	defer none.Close()
	for _, cage := range []*process.Cage{nil, none} {
		limited.Cage = cage
		if _, err := process.Start(limited); err == nil {
			t.Errorf("%s: it was started", cage.About())
		}
	}
	cage, base := grouped(t)
	limited.Cage = cage
	if _, can := cage.Can(); !can {
		if _, err := process.Start(limited); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("without what counts processes: %v", err)
		}
	}
	set(t, "0", base, "cgroup.max.descendants")
	if _, err := process.Start(limited); !errors.Is(err, unix.EAGAIN) {
		t.Errorf("without a group: %v", err)
	}
}

func TestWhatIsNotBoundedIsStartedWithoutAGroupIfNeedBe(t *testing.T) {
	cage, base := grouped(t)
	set(t, "0", base, "cgroup.max.descendants")
	first := inCage(t, cage, "read -r line")
	if got := groupOf(t, cage); strings.Contains(got, filepath.Base(base)) {
		t.Errorf("there was a group: %s", got)
	}
	first.Kill()
	first.Wait()
}

func TestAGroupInWhichNothingCanBeStartedIsNotUsedAgain(t *testing.T) {
	cage, base := grouped(t)
	if got := groupOf(t, cage); !strings.HasSuffix(got, "/1") {
		t.Fatalf("the first is in %s", got)
	}
	if err := unix.Rmdir(filepath.Join(base, "1")); err != nil {
		t.Fatal(err)
	}
	if got := groupOf(t, cage); strings.Contains(got, filepath.Base(base)) {
		t.Errorf("the second is in %s", got)
	}
	if got := groupOf(t, cage); !strings.HasSuffix(got, "/2") {
		t.Errorf("the third is in %s", got)
	}
}

func TestAFrozenGroupIsNotUsedAgain(t *testing.T) {
	cage, base := grouped(t)
	c := inCage(t, cage, "echo $$ > "+filepath.Dir(base)+"/cgroup.procs; echo 1 > "+base+"/1/cgroup.freeze")
	readAll(t, c)
	if e := c.Wait(); !e.OK() {
		t.Skipf("it cannot freeze its group here: %s", e.Stderr)
	}
	if got := groupOf(t, cage); !strings.HasSuffix(got, "/2") {
		t.Errorf("the next is in %s", got)
	}
}
