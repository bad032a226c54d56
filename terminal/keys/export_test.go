package keys

import "slices"

// Pieces returns the parts of a text that a repair tries.
func Pieces(text string) []string { return slices.Collect(pieces(text)) }
