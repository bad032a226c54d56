package config

// Nearest returns the candidate that is a slip of the keyboard away from s, or "".
func Nearest(s string, candidates []string) string { return nearest(s, candidates) }
