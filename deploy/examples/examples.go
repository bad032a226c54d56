// Package examples embeds the source of the example agents, so that the demo can run them. It does
// not know how they are run.
package examples

import "embed"

// Agents holds the source of each example in Python, as FOLDER/agent.py.
//
//go:embed */agent.py
var Agents embed.FS

// Helpers holds the helper of each language, as helpers/FILE, which "nanobot init" writes.
//
//go:embed helpers/nanobot.*
var Helpers embed.FS
