package sandbox

import "syscall"

// AssignLimits returns the limits of the helper and of the cgroup, and the missing features, if
// cgroups can limit memory or processes.
func AssignLimits(o Options, memory, processes bool) (help, group Limits, lacks []string) {
	s := &Sandbox{o: o, helperLimits: o.Limits}
	if o.User != "" {
		s.user = &agentUser{name: o.User, Credential: syscall.Credential{Uid: 1}}
	}
	s.assignLimits(memory, processes)
	return s.helperLimits, s.cgroupLimits, s.MissingFeatures()
}

// ReachableSockets returns the sockets that would be reported without namespaces.
func ReachableSockets(s *Sandbox) []string { return s.reachableSockets() }
