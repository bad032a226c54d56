package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nanobot/channels"
	"nanobot/cmd/nanobot/bots"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/starter"
)

func newBots(std stdio) *cobra.Command {
	s := &bots.Server{In: std.in, Out: std.out, Err: std.err, Networks: networks}
	cmd := &cobra.Command{
		Use:   "bots",
		Short: "Run many bots on one server",
		Long: `Creates, starts, stops and removes named bots on a server with systemd. Each bot runs as
nanobot@NAME.service under its own user, with its config and tokens in /etc/nanobot/NAME and its state in
/var/lib/nanobot/NAME. All commands except status and list need root.`,
		Example: `  nanobot bots create faq --command 'grep -i -e {message} /srv/faq.txt' --` + tokenFlagExample() +
			` token.txt
  nanobot bots start faq
  nanobot bots list`,
		Args: requireSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&s.Root, "root", "/",
		"root folder of the server's files, to prepare the image of another machine")
	cmd.PersistentFlags().BoolVar(&s.JSON, "json", false, "print JSON")
	_ = cmd.MarkPersistentFlagDirname("root")
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error {
		s.Extensions = extensions()
		return s.ResolveRoot()
	}
	cmd.AddCommand(newBotsCreate(s), newBotsList(s))
	for _, c := range []*cobra.Command{
		newBotsStatus(s), newBotsStart(s), newBotsStop(s), newBotsRestart(s), newBotsLogs(s), newBotsRemove(s),
	} {
		c.ValidArgsFunction = completeNames(s.Names)
		cmd.AddCommand(c)
	}
	return cmd
}

func newBotsCreate(s *bots.Server) *cobra.Command {
	d := bots.Draft{TokenFiles: map[string]*string{}}
	known := protocolNames()
	cmd := &cobra.Command{
		Use:   "create [flags] NAME",
		Short: "Create a bot",
		Long: `Create writes the config of a new bot to /etc/nanobot/NAME/config.json and its tokens to
/etc/nanobot/NAME/credentials, which only root can read and systemd passes to the bot. With --template it also
writes a first agent. It never changes an existing bot. Start the bot with: nanobot bots start NAME`,
		Example: `  nanobot bots create faq --command 'grep -i -e {message} /srv/faq.txt' --` + tokenFlagExample() +
			` token.txt
  pass show bots/helper | nanobot bots create helper --template python --` + tokenFlagExample() + ` -`,
		Args: requireOneBot,
		RunE: func(_ *cobra.Command, args []string) error { return s.Create(args[0], d) },
	}
	flags := cmd.Flags()
	flags.StringVar(&d.Command, "command", "",
		"the agent's shell command; {message} is the user's text, best placed after --, after -e of grep, or as "+
			"--name={message}")
	flags.StringVar(&d.Protocol, "protocol", "", "protocol of the agent: "+strings.Join(known, ", ")+" (default: "+
		protocols[0].Name+", or that of the template)")
	flags.StringVar(&d.Template, "template", "", "write a first agent: "+strings.Join(starter.Names(), ", "))
	for _, n := range networks {
		if n.Token != "" {
			d.TokenFiles[n.Name] = flags.String(bots.TokenFlag(n.Name), "", "file with the token of "+n.Token+", or - for stdin")
		}
	}
	flags.StringArrayVar(&d.Allow, "allow", nil,
		"ID of a user who may talk to the bot, or * for everybody; may be repeated (default: only paired users)")
	flags.BoolVar(&d.KeepState, "keep-state", false, "keep the users and messages of a removed bot of the same name")
	_ = cmd.RegisterFlagCompletionFunc("template",
		cobra.FixedCompletions(starter.Names(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("protocol", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// tokenFlagExample returns the token flag of the first channel that has a token.
func tokenFlagExample() string {
	first := slices.IndexFunc(networks, func(n channels.Description) bool { return n.Token != "" })
	return bots.TokenFlag(networks[first].Name)
}

func requireOneBot(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return exit.Usagef("add the name of one bot (got %d names)", len(args))
	}
	return nil
}

func newBotsList(s *bots.Server) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the bots of this server",
		Args:  noArguments,
		RunE:  func(*cobra.Command, []string) error { return s.List() },
	}
}

func newBotsStatus(s *bots.Server) *cobra.Command {
	return &cobra.Command{
		Use:   "status [flags] [NAME]…",
		Short: "Show the state of bots",
		Long:  `Status shows the state of the named bots, or of all bots. Exit status: 0 all are active, 1 at least one is not.`,
		RunE:  func(cmd *cobra.Command, args []string) error { return s.Status(cmd.Context(), args) },
	}
}

func newBotsStart(s *bots.Server) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "start [flags] NAME…",
		Short: "Start bots, now and after each reboot",
		Long: `Starts bots now and after each reboot. It skips bots with a mistake in their config.
Exit status: 0 all are running, 1 at least one is not, 78 all are running except those with a bad config.`,
		RunE: func(cmd *cobra.Command, args []string) error { return s.Start(cmd.Context(), args, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "every bot of this server")
	return cmd
}

func newBotsStop(s *bots.Server) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "stop [flags] NAME…",
		Short: "Stop bots until you start them again",
		Long: `Stops bots until you start them again, even after a reboot. Messages that arrive meanwhile are answered
after the start.`,
		RunE: func(cmd *cobra.Command, args []string) error { return s.Stop(cmd.Context(), args, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "every bot of this server")
	return cmd
}

func newBotsRestart(s *bots.Server) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "restart [flags] NAME…",
		Short: "Restart bots, with their current config",
		Long: `Restarts bots, after running turns were given time to finish, and starts those that are stopped. It skips bots with
a mistake in their config, which keep running as they are.
Exit status: 0 all are running, 1 at least one is not, 78 all are running except those with a bad config.`,
		RunE: func(cmd *cobra.Command, args []string) error { return s.Restart(cmd.Context(), args, all) },
	}
	cmd.Flags().BoolVar(&all, "all", false, "every bot of this server")
	return cmd
}

func newBotsLogs(s *bots.Server) *cobra.Command {
	var o bots.LogOptions
	cmd := &cobra.Command{
		Use:     "logs [flags] NAME…",
		Short:   "Show the log of bots",
		Long:    `Logs shows the last lines of the log of bots, from the journal of systemd.`,
		Example: "  nanobot bots logs --follow faq",
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			return s.Logs(ctx, args, o)
		},
	}
	cmd.Flags().BoolVar(&o.All, "all", false, "every bot of this server")
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "print new lines until you press Ctrl-C")
	cmd.Flags().UintVarP(&o.Lines, "lines", "n", 50, "how many of the last lines")
	return cmd
}

func newBotsRemove(s *bots.Server) *cobra.Command {
	var o bots.RemoveOptions
	cmd := &cobra.Command{
		Use:   "remove [flags] NAME",
		Short: "Stop a bot and remove it",
		Long: `Remove stops a bot and removes its config, its tokens and the changes made with "systemctl edit". Its state
(messages and files) stays, unless you add --purge, now or later.`,
		Args: requireOneBot,
		RunE: func(cmd *cobra.Command, args []string) error { return s.Remove(cmd.Context(), args[0], o) },
	}
	cmd.Flags().BoolVarP(&o.Yes, "yes", "y", false, "do not ask for confirmation")
	cmd.Flags().BoolVar(&o.Purge, "purge", false, "also remove its state: messages, the files of its users, everything")
	return cmd
}
