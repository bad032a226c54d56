// Package format writes values the way that all commands print them: JSON, shell words and sizes.
// It does not know what the values mean.
package format

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"nanobot/terminal"
)

// WriteJSON writes a value as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// ShellWord returns a path as one would type it in a shell.
func ShellWord(path string) string {
	if strings.Trim(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == "" {
		return path
	}
	return terminal.ShellQuote(path)
}

// Size returns a number of bytes in MiB or GiB.
func Size(bytes uint64) string {
	const gib = 1 << 30
	if bytes >= gib {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/gib)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// PreciseSize returns a number of bytes in MiB, or in kB below 1 MiB.
func PreciseSize(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d kB", (bytes+999)/1000)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// OneLine returns a text without line breaks and repeated spaces.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
