package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/config"
)

func newCheckConfig(std stdio) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "check-config [flags]",
		Short: "Check a config and report every mistake in it",
		Long: `Check-config reads the config and the environment as "nanobot serve" does and reports every mistake with its
position and the correction. It also finds secrets that cannot be read, malformed tokens and a missing sandbox,
and warns of accounts that have chats in the state and are not in the config.
There are two exceptions: a systemd credential (cred:NAME) is checked only inside the service, and a config
without a channel is accepted, since run and chat need none.

Exit status: 0 the config is good, 78 it has mistakes.`,
		Example: "  nanobot check-config --config /etc/nanobot/mybot/config.json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file := configPath(path)
			if file == "" {
				file = "config.json"
			}
			cfg, err := loadConfig(file)
			if err != nil {
				return err
			}
			for _, w := range cfg.Warnings() {
				fmt.Fprintln(std.err, "warning:", w)
			}
			if err := checkStart(cfg); err != nil {
				return err
			}
			for _, w := range warnState(cmd.Context(), file, std) {
				fmt.Fprintln(std.err, "warning:", w)
			}
			fmt.Fprintf(std.out, "%s: ok\n", file)
			return nil
		},
	}
	addConfigFlag(cmd, &path)
	return cmd
}

// warnState returns the warnings about a config that its state causes. Without a state, without
// access to it, or for root with a config that others can change, there are none.
func warnState(ctx context.Context, file string, std stdio) (all []string) {
	cfg, err := loadForCommand(file)
	if err != nil {
		return nil
	}
	_ = asStateOwner(cfg, std, func() error {
		s, err := openStore(ctx, cfg, true)
		if err != nil {
			return err
		}
		all, err = warnGoneAccounts(ctx, cfg, s)
		return errors.Join(err, s.Close())
	})
	return all
}

func newSchema(std stdio) *cobra.Command {
	var protocol string
	var names []string
	for _, p := range protocols {
		if p.Schema != nil {
			names = append(names, p.Name)
		}
	}
	cmd := &cobra.Command{
		Use:   "schema [flags]",
		Short: "Print the JSON Schema of the config, or of a protocol's lines",
		Example: fmt.Sprintf(`  nanobot schema > nanobot.schema.json   # then add "$schema": "./nanobot.schema.json" to the config
  nanobot schema --protocol %s > frames.schema.json`, names[0]),
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			schema := func() ([]byte, error) { return config.Schema(extensions()) }
			if p, ok := findProtocol(protocol); ok {
				schema = p.Schema
			}
			b, err := schema()
			if err != nil {
				return fmt.Errorf("make schema: %w", err)
			}
			_, err = fmt.Fprintf(std.out, "%s\n", b)
			return err
		},
	}
	cmd.Flags().Var(checkedFlag{&protocol, func(name string) error {
		if !slices.Contains(names, name) {
			return fmt.Errorf("must be a protocol whose lines are JSON: %s", strings.Join(names, ", "))
		}
		return nil
	}}, "protocol", "print the schema of the lines of this protocol: "+strings.Join(names, ", "))
	_ = cmd.RegisterFlagCompletionFunc("protocol", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}
