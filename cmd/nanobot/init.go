package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"

	"github.com/spf13/cobra"
)

//go:embed templates
var templates embed.FS

// starter is one language's first agent.
type starter struct{ source, file, command string }

var starters = map[string]starter{
	"python": {"agent.py", "agent.py", "python3 agent.py"},
	"node":   {"agent.mjs", "agent.mjs", "node agent.mjs"},
	"go":     {"agent.go.txt", "agent.go", "go run agent.go"},
	"bash":   {"agent.sh", "agent.sh", "bash agent.sh"},
}

func newInit(std stdio) *cobra.Command {
	var template string
	names := slices.Sorted(maps.Keys(starters))
	cmd := &cobra.Command{
		Use:   "init [flags] [FOLDER]",
		Short: "Write a config and a first agent",
		Long: `Init writes a commented config.json into a folder, this one if none is named, and a working micro-agent into its folder work, which is the
workspace: what an agent can write to does not hold the config. It never overwrites anything.`,
		Example: `  nanobot init --template python mybot
  cd mybot && nanobot chat`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("init: one folder at most (got %d)", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			s, ok := starters[template]
			if !ok {
				return exit.Usagef("--template: must be one of %s (got %q)", strings.Join(names, ", "), template)
			}
			folder := "."
			if len(args) == 1 {
				folder = args[0]
			}
			if err := writeStarter(folder, s); err != nil {
				return err
			}
			cd := ""
			if folder != "." {
				cd = fmt.Sprintf("cd %s && ", format.ShellWord(folder))
			}
			_, err := fmt.Fprintf(std.out, "Wrote %s and %s.\nTalk to it:  %snanobot chat\n",
				filepath.Join(folder, workFolder, s.file), filepath.Join(folder, "config.json"), cd)
			return err
		},
	}
	cmd.Flags().StringVar(&template, "template", "python", "language of the agent: "+strings.Join(names, ", "))
	_ = cmd.RegisterFlagCompletionFunc("template", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// workFolder is the workspace. It is beside the config, so that no agent can change that.
const workFolder = "work"

// writeStarter writes both files or none.
func writeStarter(folder string, s starter) error {
	agent, err := templates.ReadFile("templates/" + s.source)
	if err != nil {
		return fmt.Errorf("read template: %w", err)
	}
	cfg, err := templates.ReadFile("templates/config.json")
	if err != nil {
		return fmt.Errorf("read template: %w", err)
	}
	work := filepath.Join(folder, workFolder)
	_, missing := os.Stat(work)
	if err := os.MkdirAll(work, 0o755); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	agentPath, cfgPath := filepath.Join(work, s.file), filepath.Join(folder, "config.json")
	if err := writeNew(agentPath, agent, 0o755); err != nil {
		return err
	}
	// A token will stand in the config one day.
	text := strings.NewReplacer("{{command}}", s.command, "{{workspace}}", workFolder).Replace(string(cfg))
	if err := writeNew(cfgPath, []byte(text), 0o600); err != nil {
		err = errors.Join(err, os.Remove(agentPath))
		if missing != nil {
			err = errors.Join(err, os.Remove(work))
		}
		return err
	}
	return nil
}

func writeNew(path string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is already there and stays as it is; name another folder", path)
	}
	if err != nil {
		return fmt.Errorf("write starter: %w", err)
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}
