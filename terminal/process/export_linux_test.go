package process

// FindGroup is findGroup, for files that this machine does not have.
var FindGroup = findGroup

// Enable asks for any controller.
func (c *Cage) Enable(controller string) bool { return c.groups.enable(controller) }
