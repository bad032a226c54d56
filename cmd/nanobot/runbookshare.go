package main

import (
	"context"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/runbooks"
	"nanobot/gateway/runbook"
)

func newRunbookShare(std stdio) *cobra.Command {
	var s runbooks.Sharing
	cmd := newRunsCommand(std, &cobra.Command{
		Use:   "share [flags] NAME",
		Short: "Let all chats use a runbook that an agent has stored",
		Long: `Share makes a runbook that an agent has stored with kairos_mint one of the bot: the agents of all chats can find
and execute it, and none can replace it. NAME is its title. The text that is shared is printed; to read it before,
see "nanobot runbook list --stored --json". With --hash nothing is shared if the text is another one by now.
Without --chat the title must be that of one chat only. The chat "none" has what was stored outside of chats.`,
		Example: `  nanobot runbook share --chat telegram:123456 "Deploy the site"`,
		Args:    oneArgument("the NAME of a stored runbook"),
	}, func(ctx context.Context, runs runbook.Runs, args []string, asJSON bool) error {
		s.Name = args[0]
		return runbooks.Share(ctx, runs, s, std.out, asJSON)
	})
	cmd.Flags().StringVar(&s.Chat, "chat", "", "the chat that has stored it")
	cmd.Flags().StringVar(&s.Hash, "hash", "", "the hash that its text must have")
	return cmd
}

func newRunbookUnshare(std stdio) *cobra.Command {
	return newRunsCommand(std, &cobra.Command{
		Use:   "unshare [flags] NAME",
		Short: "Give a shared runbook back to the chat that has stored it",
		Args:  oneArgument("the NAME of a shared runbook"),
	}, func(ctx context.Context, runs runbook.Runs, args []string, asJSON bool) error {
		return runbooks.Unshare(ctx, runs, args[0], std.out, asJSON)
	})
}

func newRunbookKey(std stdio) *cobra.Command {
	return newRunsCommand(std, &cobra.Command{
		Use:   "key [flags]",
		Short: "Print the public key that verifies the exports of this bot",
		Args:  noArguments,
	}, func(ctx context.Context, runs runbook.Runs, _ []string, asJSON bool) error {
		return runbooks.PrintKey(ctx, runs, std.out, asJSON)
	})
}
