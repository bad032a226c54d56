package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// expectUsageError runs a command line and fails unless it is wrong use, with the reason and the
// help that explains it.
func expectUsageError(t *testing.T, args ...string) {
	t.Helper()
	var out, said bytes.Buffer
	status := run(t.Context(), args, stdio{musttest.Get(os.Open(os.DevNull))(t), &out, &said})
	if status != exit.Usage || !strings.HasPrefix(said.String(), "nanobot: ") || !strings.Contains(said.String(), " --help\"") {
		t.Errorf("%q: status %d, and says %s%s", args, status, said.String(), out.String())
	}
}

// eachCommand calls f with every command that people see, and the words that name it.
func eachCommand(cmd *cobra.Command, path []string, f func(cmd *cobra.Command, path []string)) {
	f(cmd, path)
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" {
			eachCommand(c, append(slices.Clip(path), c.Name()), f)
		}
	}
}

func TestWrongUseOfEveryCommandIsStatus2WhateverTheConfigIs(t *testing.T) {
	t.Chdir(t.TempDir())
	musttest.Do(t, os.WriteFile("config.json", []byte(`{"terminal": {"comand": "x"}}`), 0o600))
	root, _ := newRoot(stdio{os.Stdin, &bytes.Buffer{}, &bytes.Buffer{}})
	takesMore := []string{"run", "web", "bots status", "bots start", "bots stop", "bots restart", "bots logs"}
	commands := 0
	eachCommand(root, nil, func(cmd *cobra.Command, path []string) {
		commands++
		expectUsageError(t, append(slices.Clip(path), "--no-such-flag")...)
		if cmd.HasSubCommands() || cmd.Name() == "help" {
			expectUsageError(t, append(slices.Clip(path), "no-such-command")...)
		}
		if cmd.HasSubCommands() {
			expectUsageError(t, append(slices.Clip(path), "no-such-command", "--help")...)
		} else if !slices.Contains(takesMore, strings.Join(path, " ")) {
			expectUsageError(t, append(slices.Clip(path), "a", "b", "c")...)
		}
	})
	if commands < 30 {
		t.Errorf("only %d commands were found", commands)
	}
	for _, args := range []string{
		"serv --help", "bots star --help", "completion nope", "link --user a/b", "link --role admin", "link --json",
		"demo --listen 99999", "demo --listen 0.0.0.0:80", "web --listen 99999 x", "web --protocol ritch x", "web --config c.json x", "demo --listen localhost:99999", "run", "run --timeout 0 hi",
		"run --timeout 60s hi", "run --protocol ritch hi", "chat --protocol ritch", "run --media no-such-file hi",
		"run --command= hi", "init --template cobol", "words --lang xx", "parse --protocol ritch", "parse", "backup", "restore",
		"pair", "pair --list CODE", "login a b", "runbook check", "runbook run", "runbook verify", "runbook verify --require dog x",
		"bots start", "bots restart", "bots logs", "bots logs --lines many x", "bots start A_B", "bots logs A_B",
		"send --chat telegram hi", "send --chat :1 hi", "send --chat telegram:1", "send --chat telegram:1 --media no-such-file hi",
		"send --chat telegram:1 --buttons A,, hi", "ask --chat telegram:1", "bots --root no-such-folder list", "bots create", "bots create x", "bots remove", "doctor --check-time soon",
	} {
		expectUsageError(t, strings.Fields(args)...)
	}
}

func TestNamesOfBotsAgentsAndRunbooksAreCompleted(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"runbooks", "server/etc/nanobot/faq", "server/etc/nanobot/helper"} {
		musttest.Do(t, os.MkdirAll(dir, 0o755))
	}
	for file, text := range map[string]string{
		"config.json":        `{"terminal": {"command": "x"}, "agents": {"coder": {"command": "y"}}}`,
		"runbooks/deploy.md": "# Deploy\n", "server/etc/nanobot/faq/config.json": "{}", "server/etc/nanobot/helper/config.json": "{}",
	} {
		musttest.Do(t, os.WriteFile(file, []byte(text), 0o600))
	}
	for args, want := range map[string]string{
		"run --agent": "default coder", "chat --agent": "default coder", "ask --agent": "default coder", "runbook run": "deploy", "runbook check": "deploy",
		"bots --root server start": "faq helper", "bots --root server restart": "faq helper",
		"bots --root server logs": "faq helper", "bots --root server remove": "faq helper",
	} {
		var out bytes.Buffer
		run(t.Context(), append(append([]string{"__complete"}, strings.Fields(args)...), ""), stdio{os.Stdin, &out, &bytes.Buffer{}})
		names, _, _ := strings.Cut(out.String(), "\n:")
		wanttest.Equal(t, args, strings.ReplaceAll(names, "\n", " "), want)
	}
}
