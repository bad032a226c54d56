// Package starter has the example agents that "nanobot init" and "nanobot bots create" write: one
// per language, one that talks to a model, and a tool that is installed already. It does not run
// them.
package starter

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/deploy/examples"
	"nanobot/terminal/plain"
	"nanobot/terminal/rich"
)

//go:embed templates
var templates embed.FS

// Agent is a first agent.
type Agent struct {
	File     string // its name in the workspace; "" if the command is a program that is installed already
	Command  string // the command that runs it there
	Protocol string
	Stdin    string // the setting terminal.stdin; "": the default
	files    embed.FS
	source   string // its path in files
	config   string // its config's name among the templates
}

// plainConfig is the config of agents without settings of their own.
const plainConfig = "config.json"

var agents = map[string]Agent{
	"python": {
		File: "agent.py", Command: "python3 agent.py", Protocol: rich.Name, files: templates, source: "templates/agent.py",
		config: plainConfig,
	},
	"node": {
		File: "agent.mjs", Command: "node agent.mjs", Protocol: rich.Name, files: templates, source: "templates/agent.mjs",
		config: plainConfig,
	},
	"go": {
		File: "agent.go", Command: sayCompiling + "go run agent.go", Protocol: rich.Name, files: templates,
		source: "templates/agent.go.txt", config: plainConfig,
	},
	"bash": {
		File: "agent.sh", Command: "bash agent.sh", Protocol: rich.Name, files: templates, source: "templates/agent.sh",
		config: plainConfig,
	},
	"llm": {
		File: "agent.py", Command: "python3 agent.py", Protocol: rich.Name, files: examples.Agents, source: "llm/agent.py",
		config: "config-llm.json",
	},
	"cli": {Command: "claude -p", Protocol: plain.Name, Stdin: "text", config: "config-cli.json"},
}

// sayCompiling shows why the first answer of an agent in Go takes a moment.
const sayCompiling = `echo '{"type": "progress", "text": "Compiling..."}'; `

// Names returns the names of the agents, in order.
func Names() []string { return slices.Sorted(maps.Keys(agents)) }

// Find returns the agent with a name.
func Find(name string) (Agent, bool) {
	a, ok := agents[name]
	return a, ok
}

// Source returns the agent's program; nil if it has no file.
func (a Agent) Source() ([]byte, error) {
	if a.File == "" {
		return nil, nil
	}
	b, err := a.files.ReadFile(a.source)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	return b, nil
}

// WorkDir is the workspace's folder. The config is not in it, so that no agent can change it.
const WorkDir = "work"

// Write writes a config and an agent into a folder, or neither.
func Write(folder string, a Agent) error {
	agent, err := a.Source()
	if err != nil {
		return err
	}
	cfg, err := templates.ReadFile("templates/" + a.config)
	if err != nil {
		return fmt.Errorf("read template: %w", err)
	}
	channels, err := templates.ReadFile("templates/channels.jsonc")
	if err != nil {
		return fmt.Errorf("read template: %w", err)
	}
	command, err := json.Marshal(a.Command)
	if err != nil {
		return fmt.Errorf("write command: %w", err)
	}
	work := filepath.Join(folder, WorkDir)
	_, missing := os.Stat(work)
	if err := os.MkdirAll(work, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	agentPath, cfgPath := filepath.Join(work, a.File), filepath.Join(folder, "config.json")
	if a.File != "" {
		if err := WriteNew(agentPath, agent, 0o755); err != nil {
			return err
		}
	}
	// Mode 0600: users will add tokens to the config.
	text := strings.NewReplacer("{{command}}", string(command), "{{workspace}}", WorkDir,
		"{{channels}}", string(channels)).Replace(string(cfg))
	if err := WriteNew(cfgPath, []byte(text), 0o600); err != nil {
		if a.File != "" {
			err = errors.Join(err, os.Remove(agentPath))
		}
		if missing != nil {
			err = errors.Join(err, os.Remove(work))
		}
		return err
	}
	return nil
}

// WriteNew writes a file that does not exist yet.
func WriteNew(path string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already and is not changed; choose another folder", path)
	}
	if err != nil {
		return fmt.Errorf("write new file: %w", err)
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
