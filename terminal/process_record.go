package terminal

import "nanobot/terminal/process"

// ProcessRecord identifies an agent's process after a crash of the gateway, which stores it without
// interpreting it.
type ProcessRecord = process.Record

// RecordProcess returns the record of a process that was just started, such as one reported by
// Launched.
func RecordProcess(pid int) ProcessRecord { return process.NewRecord(pid) }

// RecordStarting returns the record of an agent that is about to be started.
func RecordStarting() ProcessRecord { return process.NewStartingRecord() }

// RecordNotStarted returns the record of an agent that could not be started.
func RecordNotStarted() ProcessRecord { return process.NewNotStartedRecord() }

// KillRun kills the processes of a turn's agent that a crash has left. run is the RunName of the
// Request.
func KillRun(run string, p ProcessRecord) { process.KillRun(run, p) }

// KillPersistent kills the persistent agents that a crash has left. gateway is the GatewayName of
// the Request. It must be called before the first turn.
func KillPersistent(gateway string) { process.KillPersistent(gateway) }
