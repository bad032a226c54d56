package keys

import "slices"

// PauseAfter is how long a command wants to wait, within bounds.
var PauseAfter = pauseAfter

// Pieces returns the parts of a text that a repair tries.
func Pieces(text string) []string { return slices.Collect(findPieces(text)) }
