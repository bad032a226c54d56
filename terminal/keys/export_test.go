package keys

import "slices"

// PauseAfter returns the requested wait after a command, within its limits.
var PauseAfter = pauseAfter

// Pieces returns the parts of a text that a repair tries.
func Pieces(text string) []string { return slices.Collect(findPieces(text)) }
