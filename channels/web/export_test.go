package web

import (
	"maps"
	"slices"
)

// Render is for tests that have many texts to try.
var Render = render

// Rendered is what messages were rendered to.
type Rendered struct{ rendered }

// Of renders a message.
func (r *Rendered) Of(seq int64, text string) string { return r.of(seq, text) }

// Routes are the patterns of what is served.
func (c *Channel) Routes() []string { return slices.Sorted(maps.Keys(c.routes())) }
