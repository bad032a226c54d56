package web

import (
	"maps"
	"slices"

	"nanobot/channels/web/history"
)

// Render is for tests that have many texts to try, and RenderOutgoing shows what Plan made.
var (
	Render         = renderMarkdown
	RenderOutgoing = renderOutgoing
)

// Rendered is what messages were rendered to.
type Rendered struct{ renderCache }

// Of renders a message.
func (r *Rendered) Of(seq int64, text string) string { return r.html(seq, history.Body{Text: text}) }

// Routes are the patterns of what is served.
func (c *Channel) Routes() []string { return slices.Sorted(maps.Keys(c.routes())) }
