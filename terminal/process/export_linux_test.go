package process

// Enable asks for any controller.
func (c *Cage) Enable(controller string) bool { return c.groups.enable(controller) }
