package discord

import "nanobot/channels/markdown"

// Read, Write and Split are how a text is read, written and cut.
func Read(source string) markdown.Text { return layout.Text(source) }

var (
	Write = write
	Split = split
)
