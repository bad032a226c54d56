package web

import (
	"maps"
	"slices"

	"nanobot/channels"
	"nanobot/channels/web/history"
)

// RenderOutgoing shows what Plan made.
var RenderOutgoing = renderOutgoing

// Rendered is what messages were rendered to.
type Rendered struct{ renderCache }

// Of renders a message.
func (r *Rendered) Of(seq int64, text string) string { return r.html(seq, history.Body{Text: text}) }

// Routes are the patterns of what is served.
func (c *Channel) Routes() []string { return slices.Sorted(maps.Keys(c.routes())) }

// Render renders Markdown, for tests that have many texts to try.
func Render(text string) string { return renderText(text, channels.Markdown) }

// Dimensions returns the width and height of a picture or a video.
var Dimensions = dimensions
