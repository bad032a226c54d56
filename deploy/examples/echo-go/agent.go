// Command agent is the smallest agent in Go: an envelope on stdin, frames on stdout.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type frame struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run() error {
	var envelope struct {
		Text string `json:"text"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&envelope); err != nil {
		return fmt.Errorf("read envelope: %w", err)
	}
	out := json.NewEncoder(os.Stdout) // each Encode writes one line at once; os.Stdout has no buffer
	if err := out.Encode(frame{"progress", "Thinking..."}); err != nil {
		return err
	}
	return out.Encode(frame{"message", "You said: " + envelope.Text})
}
