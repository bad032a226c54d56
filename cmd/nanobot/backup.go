package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/backup"
	"nanobot/cmd/nanobot/state"
)

func newBackup(std stdio) *cobra.Command {
	var path string
	var force bool
	cmd := &cobra.Command{
		Use:   "backup [flags] FILE",
		Short: "Write the state to one file, while the daemon runs",
		Long: `Backup writes a compressed tar archive with everything that "nanobot restore" needs: the messages, what is still to be delivered with its files,
who may talk to the bot, the web's conversations and the key of its sessions. It is of one moment, is checked, and appears as FILE only once it
is complete. It holds what people wrote: keep it as you keep the state. The config, the secrets that it names and the workspace are not in it.
- writes to standard output.

Exit status: 0 written, 1 not written, 78 bad config or a damaged state.`,
		Example: `  nanobot backup /var/backups/mybot-$(date +%F).tar.gz
  nanobot backup - | ssh elsewhere 'cat > mybot.tar.gz'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends what a pipe that nobody reads holds up
			cfg, err := loadBesideDaemon(path)
			if err != nil {
				return err
			}
			o := backup.Options{Config: cfg, Version: version, Parts: state.Parts(stateFolders()), Stderr: std.err}
			if args[0] == "-" {
				return backup.Write(ctx, o, std.out)
			}
			return backup.WriteFile(ctx, o, args[0], force)
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "config file (default: $NANOBOT_CONFIG, else config.json here)")
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it is there")
	_ = cmd.MarkFlagFilename("config", "json")
	return cmd
}
