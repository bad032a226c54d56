package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"nanobot/config"
)

func newCheckConfig(std stdio) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "check-config [flags]",
		Short: "Check a config and say everything that is wrong with it",
		Long: `Check-config reads the config as the other commands do, the environment included, and reports every mistake with its
place and what would be right. It refuses what serve refuses at its start: secrets that cannot be read, tokens of the wrong form, a sandbox that is
not there. Only a systemd credential (cred:NAME) is not looked for outside the service, and a config without a channel is good for run and chat.
Exit status: 0 good, 78 bad.`,
		Example: "  nanobot check-config --config /etc/nanobot/mybot/config.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
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
			fmt.Fprintf(std.out, "%s: ok\n", file)
			return nil
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	_ = cmd.MarkFlagFilename("config", "json")
	return cmd
}

func newSchema(std stdio) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the config's JSON Schema",
		Example: "  nanobot schema > nanobot.schema.json   # then add \"$schema\": \"./nanobot.schema.json\" to the config",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b, err := config.Schema(parts())
			if err != nil {
				return fmt.Errorf("make schema: %w", err)
			}
			_, err = fmt.Fprintf(std.out, "%s\n", b)
			return err
		},
	}
}
