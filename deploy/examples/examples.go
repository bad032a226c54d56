// Package examples is the example agents, so that the demo can run them.
package examples

import "embed"

// Agents holds the source of each example in Python, as FOLDER/agent.py.
//
//go:embed */agent.py
var Agents embed.FS
