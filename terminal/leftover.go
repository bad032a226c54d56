package terminal

import "nanobot/terminal/process"

// ProcessRecord identifies an agent's process after a crash of the gateway. The gateway stores it
// and does not read it.
type ProcessRecord = process.Record

// RecordProcess returns the record of a process that was just started, such as one that
// Request.OnLaunch was called with.
func RecordProcess(pid int) ProcessRecord { return process.NewRecord(pid) }

// RecordStarting returns the record of an agent that is about to be started.
func RecordStarting() ProcessRecord { return process.NewStartingRecord() }

// RecordNotStarted returns the record of an agent that could not be started.
func RecordNotStarted() ProcessRecord { return process.NewNotStartedRecord() }

// KillRun kills what a crash has left of a turn's agent. The run is the Request's RunName.
func KillRun(run string, p ProcessRecord) { process.KillRun(run, p) }

// KillPersistent kills what a crash has left of the agents that were kept between turns. The
// gateway is the Request's GatewayName. It must be called before the first turn.
func KillPersistent(gateway string) { process.KillPersistent(gateway) }
