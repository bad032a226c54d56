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
	Helper   string // the file beside it that it uses; "": none
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
		File: "agent.py", Helper: "nanobot.py",
		Command: "python3 agent.py", Protocol: rich.Name, files: templates, source: "templates/agent.py",
		config: plainConfig,
	},
	"node": {
		File: "agent.mjs", Helper: "nanobot.mjs",
		Command: "node agent.mjs", Protocol: rich.Name, files: templates, source: "templates/agent.mjs",
		config: plainConfig,
	},
	"go": {
		File: "agent.go", Helper: "nanobot.go",
		Command: sayCompiling + "go run agent.go nanobot.go", Protocol: rich.Name, files: templates,
		source: "templates/agent.go.txt", config: plainConfig,
	},
	"bash": {
		File: "agent.sh", Helper: "nanobot.sh",
		Command: "bash agent.sh", Protocol: rich.Name, files: templates, source: "templates/agent.sh",
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

// Sources returns the agent's program and its helper by their names; none if it has no file.
func (a Agent) Sources() (map[string][]byte, error) {
	sources := map[string][]byte{}
	var err, helperErr error
	if a.File != "" {
		sources[a.File], err = a.files.ReadFile(a.source)
	}
	if a.Helper != "" {
		sources[a.Helper], helperErr = examples.Helpers.ReadFile("helpers/" + a.Helper)
	}
	if err := errors.Join(err, helperErr); err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	return sources, nil
}

// CommandIn returns the command that runs the agent from another folder than its own.
func (a Agent) CommandIn(folder string) string {
	command := a.Command
	for _, name := range []string{a.File, a.Helper} {
		if name != "" {
			command = strings.Replace(command, name, filepath.Join(folder, name), 1)
		}
	}
	return command
}

// WorkDir is the workspace's folder. The config is not in it, so that no agent can change it.
const WorkDir = "work"

// Write writes a config and an agent into a folder, or neither.
func Write(folder string, a Agent) error {
	sources, err := a.Sources()
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
	var written []string
	undo := func(err error) error {
		for _, path := range written {
			err = errors.Join(err, os.Remove(path))
		}
		if missing != nil {
			err = errors.Join(err, os.Remove(work))
		}
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		path := filepath.Join(work, name)
		if err := WriteNew(path, sources[name], 0o755); err != nil {
			return undo(err)
		}
		written = append(written, path)
	}
	// Mode 0600: users will add tokens to the config.
	text := strings.NewReplacer("{{command}}", string(command), "{{workspace}}", WorkDir,
		"{{channels}}", string(channels)).Replace(string(cfg))
	if err := WriteNew(filepath.Join(folder, "config.json"), []byte(text), 0o600); err != nil {
		return undo(err)
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
