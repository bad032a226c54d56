package downloads

import "strings"

// SavedName returns the name under which a file is saved: Name without blanks, so that agents and
// scripts can use the path without quotes.
func SavedName(name, otherwise string) string {
	return strings.ReplaceAll(Name(name, otherwise), " ", "_")
}
