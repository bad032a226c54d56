package process

// EnableController enables a controller for the cgroups of children.
func (s *Supervisor) EnableController(controller string) bool {
	return s.cgroups.enableController(controller)
}
