package process

// Enable asks for any controller.
func (s *Supervisor) Enable(controller string) bool { return s.cgroups.enableController(controller) }
