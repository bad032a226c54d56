package process

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// TestTheLastOfEqualVariablesCounts shows that a child gets no name twice: programs differ in
// whether they use the first or the last one.
func TestTheLastOfEqualVariablesCounts(t *testing.T) {
	large := []string{"A=1"}
	for i := range 600 {
		large = append(large, fmt.Sprintf("V%d=x", i))
	}
	for name, c := range map[string]struct{ env, want []string }{
		"none twice":  {[]string{"A=1", "AB=2", "B=A=1"}, []string{"A=1", "AB=2", "B=A=1"}},
		"two":         {[]string{"A=1", "B=2", "A=3"}, []string{"B=2", "A=3"}},
		"without =":   {[]string{"A", "B=2", "A=3"}, []string{"B=2", "A=3"}},
		"large, none": {large, large},
		"large, one":  {append(slices.Clone(large), "A=2"), append(slices.Clone(large[1:]), "A=2")},
	} {
		wanttest.EqualSlices(t, name+":", withoutDuplicates(c.env), c.want)
	}
}

// TestALostExitStatusIsNoSuccess shows that a process which something else has reaped does not look
// as if it had succeeded.
func TestALostExitStatusIsNoSuccess(t *testing.T) {
	c := musttest.Get(Start(Options{Args: []string{"true"}}))(t)
	<-c.exited
	musttest.Get(syscall.Wait4(c.Pid(), nil, 0, nil))(t)
	if e := c.Wait(); e.OK() || e.Code != -1 {
		t.Errorf("the exit is %+v", e)
	}
}

// TestAChildWithoutAnEnvironmentKnowsItsFolder shows that PWD names the folder of the child, not
// ours.
func TestAChildWithoutAnEnvironmentKnowsItsFolder(t *testing.T) {
	l := musttest.Get(newLeader(Options{Args: []string{"true"}, Dir: "/elsewhere"}))(t)
	if env := withoutDuplicates(l.env); !slices.Contains(env, "PWD=/elsewhere") {
		t.Errorf("the environment is %q", env)
	}
}
