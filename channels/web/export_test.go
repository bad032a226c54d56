package web

import (
	"maps"
	"slices"
)

// Render is for tests that have many texts to try.
var Render = render

// Routes are the patterns of what is served.
func (c *Channel) Routes() []string { return slices.Sorted(maps.Keys(c.routes())) }
