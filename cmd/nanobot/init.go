package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/starter"
)

func newInit(std stdio) *cobra.Command {
	var template string
	names := starter.Names()
	cmd := &cobra.Command{
		Use:   "init [flags] [FOLDER]",
		Short: "Write a config and a first agent",
		Long: `Init writes a commented config.json to FOLDER (default: this folder) and a small working agent to its subfolder
work, with a helper for its language. That subfolder is the workspace, so the agent cannot write to the config. Init
never overwrites a file.
Then try the agent with: nanobot web`,
		Example: `  nanobot init --template python mybot
  cd mybot && nanobot web
  nanobot init --template llm mymodel
  nanobot init --template cli myclaude   # claude -p, codex exec -, gemini, opencode run, llm`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exit.Usagef("init: add at most one folder (got %d)", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			a, ok := starter.Find(template)
			if !ok {
				return exit.Usagef("--template: must be one of %s (got %q)", strings.Join(names, ", "), template)
			}
			folder := "."
			if len(args) == 1 {
				folder = args[0]
			}
			if err := starter.Write(folder, a); err != nil {
				return err
			}
			cd := ""
			if folder != "." {
				cd = fmt.Sprintf("cd %s && ", format.ShellWord(folder))
			}
			wrote := filepath.Join(folder, "config.json")
			if a.File != "" {
				wrote = filepath.Join(folder, starter.WorkDir, a.File) + " and " + wrote
			}
			if a.Helper != "" {
				wrote = filepath.Join(folder, starter.WorkDir, a.Helper) + ", " + wrote
			}
			_, err := fmt.Fprintf(std.out, "Wrote %s.\nTalk to your agent here:  %[2]snanobot chat\n"+
				"or in your browser:       %[2]snanobot web\n", wrote, cd)
			return err
		},
	}
	cmd.Flags().StringVar(&template, "template", "python", "agent to write: a language, llm for a chat with a model, or "+
		"cli for a tool such as claude -p: "+
		strings.Join(names, ", "))
	_ = cmd.RegisterFlagCompletionFunc("template", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
