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

func newRestore(std stdio) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "restore [flags] FILE",
		Short: "Replace the state with a backup, while the daemon is stopped",
		Long: `Restore checks a file of "nanobot backup" and replaces the state with it. Stop the daemon first. Nothing is deleted:
the old state moves to a folder in stateDir/backups.

To go back to an earlier version of nanobot, restore one of the copies in stateDir/backups that were made before
the upgrade; this replaces only the messages.

Messages sent after the backup may be sent again. Messages received after it are lost.

Exit status: 0 restored, 1 not restored, 78 bad config, or a file that is damaged or from a newer nanobot.`,
		Example: "  systemctl stop nanobot@mybot; nanobot restore --config /etc/nanobot/mybot/config.json mybot.tar.gz; systemctl start nanobot@mybot",
		Args:    oneArgument("the FILE that nanobot backup has written"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			context.AfterFunc(ctx, stop) // a second signal ends the process even while it reads from an empty pipe
			cfg, err := loadForCommand(path)
			if err != nil {
				return err
			}
			return backup.Restore(ctx, backup.Options{Config: cfg, Version: version, Parts: state.Parts(stateFolders()), Stderr: std.err}, args[0])
		},
	}
	addConfigFlag(cmd, &path)
	return cmd
}
