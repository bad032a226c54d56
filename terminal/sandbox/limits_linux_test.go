package sandbox_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/terminal/process"
	"nanobot/terminal/sandbox"
)

const mib = 1 << 20

func TestTheLimitsOfAProcessAreEnforced(t *testing.T) {
	for name, tc := range map[string]struct {
		limits sandbox.Limits
		script string
		bitten func(scriptResult) bool
	}{
		"memory": {
			sandbox.Limits{Memory: 192 * mib}, // the race detector needs 64 MiB before the program is executed
			"head -c 400000000 /dev/zero | tail -c 400000000 | wc -c",
			func(r scriptResult) bool { return r.out != "400000000" && strings.Contains(r.err, "memory") },
		},
		"cpu": {
			sandbox.Limits{CPU: 1},
			"while :; do :; done",
			func(r scriptResult) bool {
				return r.exit.Signal == "SIGXCPU" && r.exit.Usage.CPU > 500*time.Millisecond
			},
		},
		"cpu of one that does not listen": {
			sandbox.Limits{CPU: 1},
			"trap '' XCPU; while :; do :; done",
			func(r scriptResult) bool {
				return r.exit.Signal == "SIGKILL" && r.exit.Usage.CPU > 1200*time.Millisecond
			},
		},
		"files": {
			sandbox.Limits{Files: 64},
			os.Args[0] + " files",
			func(r scriptResult) bool { return strings.HasSuffix(r.out, "too many open files") && len(r.out) < 100 },
		},
	} {
		if r := runScript(t, sandbox.Options{Limits: tc.limits}, tc.script); !tc.bitten(r) {
			t.Errorf("%s: out %.200q, err %.200q, exit %+v", name, r.out, r.err, r.exit)
		}
		if r := runScript(t, sandbox.Options{Limits: tc.limits}, "cat; exit 3"); r.out != "input" || r.exit.Code != 3 {
			t.Errorf("%s: one that stays within: %+v", name, r)
		}
	}
}

func TestAMemoryLimitAllowsProgramsThatReserveMuch(t *testing.T) {
	limits := sandbox.Limits{Memory: 512 * mib}
	if r := runScript(t, sandbox.Options{Limits: limits}, os.Args[0]+" agent /dev/null"); r.out != "go input <nil>" {
		t.Errorf("go: %+v", r)
	}
	if r := runScript(t, sandbox.Options{Limits: limits}, requireProgram(t, "node")+" -e 'console.log(1+1)'"); r.out != "2" {
		t.Errorf("node: %+v", r)
	}
}

// The kernel counts all processes of a user. Other tests run agents as nobody at the same time,
// and none as daemon.
func TestTheProcessesOfAnotherUserAreBounded(t *testing.T) {
	needRoot(t)
	supervisor := process.NewSupervisor(process.SupervisorOptions{NoCgroups: true})
	defer supervisor.Close()
	o := sandbox.Options{Limits: sandbox.Limits{Processes: 20}, User: "daemon", Supervisor: supervisor}
	r := runScript(t, o, "i=0; while [ $i -lt 200 ]; do sleep 60 & i=$((i+1)); echo $i; done; echo all")
	if n := len(strings.Fields(r.out)); n < 5 || n > 20 || r.exit.OK() {
		t.Errorf("%d processes, exit %+v, %q", n, r.exit, r.err)
	}
}

// The limits of a cgroup apply to the sum of all processes.
func TestTheLimitsOfACgroupAreEnforced(t *testing.T) {
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	defer supervisor.Close()
	memory, processes := supervisor.CanLimit()
	if !memory || !processes {
		t.Skipf("memory %v, processes %v: the control groups that this machine lets us make do not count them (%s)", memory, processes, supervisor.Describe())
	}
	r := runScript(t, sandbox.Options{Supervisor: supervisor, Limits: sandbox.Limits{Memory: 64 * mib}}, "head -c 200000000 /dev/zero | tail -c 200000000 | wc -c")
	if r.out == "200000000" || r.exit.Usage.Memory < 32*mib {
		t.Errorf("memory: %+v", r)
	}
	r = runScript(t, sandbox.Options{Supervisor: supervisor, Limits: sandbox.Limits{Processes: 20}}, "i=0; while [ $i -lt 200 ]; do sleep 60 & i=$((i+1)); echo $i; done")
	if n := len(strings.Fields(r.out)); n < 5 || n > 20 {
		t.Errorf("%d processes: %+v", n, r)
	}
}

func TestMissingFeaturesAreReportedAndRefusedIfRequired(t *testing.T) {
	supervisor := process.NewSupervisor(process.SupervisorOptions{NoCgroups: true})
	defer supervisor.Close()
	for _, tc := range []struct {
		o       sandbox.Options
		says    string
		refuses bool
	}{
		{sandbox.Options{Limits: sandbox.Limits{Memory: mib}}, "terminal.limits.memory: there is no control group", false},
		{sandbox.Options{Limits: sandbox.Limits{Processes: 9}}, "terminal.limits.processes: needs a control group", true},
		{sandbox.Options{Sandbox: "no-such-program --flag"}, `terminal.sandbox: exec: "no-such-program"`, true},
		{sandbox.Options{Sandbox: "env A=b"}, "", false},
		{sandbox.Options{Limits: sandbox.Limits{CPU: 1, Files: 1}, Sandbox: "none"}, "", false},
	} {
		tc.o.Supervisor = supervisor
		c := musttest.Get(sandbox.New(tc.o))(t)
		if got := strings.Join(c.MissingFeatures(), "\n"); !strings.HasPrefix(got, tc.says) || (got == "") != (tc.says == "") {
			t.Errorf("%+v says %q", tc.o, got)
		}
		tc.o.Required = true
		if _, err := sandbox.New(tc.o); (err != nil) != tc.refuses || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%+v required: %v", tc.o, err)
		}
	}
}

// An agent of our own user can write to our cgroup, and so leave its own.
func TestAnAgentThatMayLeaveItsCgroupAlsoHasRlimitsAndIsReported(t *testing.T) {
	limits := sandbox.Limits{Memory: 64 * mib, Processes: 20, CPU: 3}
	inGroup := sandbox.Limits{Memory: 64 * mib, Processes: 20}
	help, group, lacks := sandbox.AssignLimits(sandbox.Options{Limits: limits}, true, true)
	if help != (sandbox.Limits{Memory: 4 * 64 * mib, CPU: 3}) || group != inGroup || len(lacks) != 1 || !strings.Contains(lacks[0], "may leave the control group") {
		t.Errorf("help %+v, group %+v, %q", help, group, lacks)
	}
	help, group, lacks = sandbox.AssignLimits(sandbox.Options{Limits: limits, User: "other"}, true, true)
	if help != (sandbox.Limits{CPU: 3}) || group != inGroup || len(lacks) != 0 {
		t.Errorf("another user: help %+v, group %+v, %q", help, group, lacks)
	}
	o, _ := newLandlockOptions(t)
	o.Limits = limits
	if help, group, lacks = sandbox.AssignLimits(o, true, true); help != (sandbox.Limits{CPU: 3}) || group != inGroup || len(lacks) != 0 {
		t.Errorf("a sandbox: help %+v, group %+v, %q", help, group, lacks)
	}
}
