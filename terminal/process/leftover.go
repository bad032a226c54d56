package process

// Record identifies a process to a later run of this program, which kills the processes that a
// crash has left. A PID alone would not do, because the kernel reuses PIDs.
type Record struct {
	Pid   int    // notStarted or starting if there is no process yet
	Start string // a bootMoment at which Pid was this process; "": not known
}

// The pids of records that name no process.
const (
	notStarted = 0
	starting   = -1
)

// NewRecord returns the record of a process that was just started.
func NewRecord(pid int) Record { return Record{Pid: pid, Start: bootMoment()} }

// NewStartingRecord returns the record of a process that is about to be started: after a crash,
// nobody knows whether it was.
func NewStartingRecord() Record { return NewRecord(starting) }

// NewNotStartedRecord returns the record that replaces NewStartingRecord's when the start failed.
func NewNotStartedRecord() Record { return NewRecord(notStarted) }

// NeverStarted reports whether no process was started, or about to be, since the last boot. An
// older record proves nothing, because a later one may not have reached the disk.
func (r Record) NeverStarted() bool { return r.Pid == notStarted && sameBoot(r.Start) }

const (
	// runVariable holds the name of a run in the environment of its processes.
	runVariable = "NANOBOT_RUN="
	// gatewayVariable holds the name of the gateway in the environment of processes that outlive a
	// run. After a crash only this variable identifies those that work on no run.
	gatewayVariable = "NANOBOT_KEPT="
)

// RunEnv returns the environment variable by which KillRun finds the processes of a run; none if
// the run has no name.
func RunEnv(run string) []string { return envEntry(runVariable, run) }

// GatewayEnv returns the environment variable by which KillPersistent finds processes that outlive
// a run; none if the gateway has no name.
func GatewayEnv(owner string) []string { return envEntry(gatewayVariable, owner) }

func envEntry(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{name + value}
}
