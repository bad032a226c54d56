//go:build !linux

package process

import (
	"errors"
	"os/exec"
)

type groups struct{ base string }

func openGroups() (*groups, string) { return nil, "this system has none" }
func (*groups) close()              {}
func (*groups) enable(string) bool  { return false }

func (*groups) take(Options) (*cell, error) { return nil, errors.New("this system has none") }

type cell struct{}

func (*cell) enter(*exec.Cmd) {}
func (*cell) kill()           {}
func (*cell) end()            {}
func (*cell) leave(Usage)     {}
func (*cell) waste()          {}
func (*cell) used() Usage     { return Usage{} }

type orphans struct{}

func openOrphans(bool, *groups) *orphans            { return nil }
func (*orphans) close()                             {}
func (*orphans) mark(*exec.Cmd) string              { return "" }
func (*orphans) start(cmd *exec.Cmd, _ *hold) error { return cmd.Start() }
func (*orphans) end(int, *hold)                     {}
func (*orphans) reap(cmd *exec.Cmd, _ *hold)        { _ = cmd.Wait() }
