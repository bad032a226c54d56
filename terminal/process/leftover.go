package process

// Record identifies a process to a later run of this program, which kills what a crash has left of
// the process. A pid alone would not do: the kernel gives it to another process in time.
type Record struct {
	Pid   int    // notStarted or starting if there is no process yet
	Start string // a moment by the kernel's clock at which Pid was this process; "" when the moment is not known
}

// The pids of records that name no process.
const (
	notStarted = 0
	starting   = -1
)

// NewRecord returns the record of a process that was just started.
func NewRecord(pid int) Record { return Record{Pid: pid, Start: moment()} }

// Starting returns the record of a process that is about to be started: whether it was is not known
// after a crash.
func Starting() Record { return NewRecord(starting) }

// NotStarted returns the record that takes Starting back.
func NotStarted() Record { return NewRecord(notStarted) }

// NeverStarted reports whether no process was started, nor was one about to be, since the last
// boot. A record from before that says nothing, because it need not have reached the disk.
func (r Record) NeverStarted() bool { return r.Pid == notStarted && sameBoot(r.Start) }

const (
	// runVariable leads the name of a run in the environment of its processes.
	runVariable = "NANOBOT_RUN="
	// ownerVariable leads the name of the gateway in the environment of processes that outlive a
	// run. After a crash these may work on no run, and are known by this variable alone.
	ownerVariable = "NANOBOT_KEPT="
)

// RunEnv returns the environment variable by which KillRun knows the processes of a run; none if
// the run has no name.
func RunEnv(run string) []string { return variable(runVariable, run) }

// OwnerEnv returns the environment variable by which KillOwned knows the processes that outlive a
// run; none if the owner has no name.
func OwnerEnv(owner string) []string { return variable(ownerVariable, owner) }

func variable(name, value string) []string {
	if value == "" {
		return nil
	}
	return []string{name + value}
}
