package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/config"
	"nanobot/gateway/ledger"
	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
)

func newUsage(std stdio) *cobra.Command {
	var asJSON bool
	var last time.Duration
	var by string
	cmd := withConfig(&cobra.Command{
		Use:   "usage [flags]",
		Short: "Show what turns have used, by user, chat, agent, model or day",
		Long: `Usage sums the turns that have ended, the time they took without waiting for people, and the tokens and US dollars that
agents report, whether the daemon runs or not. The user "-" stands for messages that nobody has typed.
Usage is kept for 400 days: that of the last two days by the quarter of an hour, older usage by the day
(gateway.timezone), so that a longer --since begins with a whole day. With --json it prints
[{"user":…,"turns":…,"seconds":…,"input_tokens":…,"output_tokens":…,"cost":…}], or "chat", "agent", "model" or "day"
instead of "user".`,
		Example: `  nanobot usage
  nanobot usage --since 24h --by agent
  nanobot usage --json --by day --config /etc/nanobot/mybot/config.json`,
		Args: noArguments,
	}, func(cmd *cobra.Command, cfg *config.Config, _ []string) error {
		zone, err := schedule.LoadZone(cfg.Gateway.Timezone)
		if err != nil {
			return err
		}
		key, err := ledger.ParseKey(by)
		if err != nil {
			return exit.Usagef("--by %w", err)
		}
		if last < 0 {
			return exit.Usagef("--since must not be negative")
		}
		q := ledger.Query{By: key, Last: last, Zone: zone}
		return withUsage(cmd.Context(), cfg, std, func(s store.Usage) error {
			rows, err := ledger.Report(cmd.Context(), s, q)
			if err == nil && asJSON {
				err = format.WriteJSON(std.out, rows)
			} else if err == nil {
				err = writeUsage(std.out, by, rows)
			}
			return err
		})
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().DurationVar(&last, "since", 0, "only the `time` until now, such as 24h (default everything that is kept)")
	cmd.Flags().StringVar(&by, "by", string(store.UsageByUser), "sum by this `key`: user, chat, agent, model or day")
	return cmd
}

// withUsage passes the ledger to a function; nil: the daemon was never started.
func withUsage(ctx context.Context, cfg *config.Config, std stdio, report func(store.Usage) error) error {
	if !hasState(cfg) {
		return report(nil)
	}
	return asStateOwner(cfg, std, func() error {
		db, err := openStore(ctx, cfg, true)
		if err != nil {
			return err
		}
		return errors.Join(report(db), closeStore(db))
	})
}

func writeUsage(out io.Writer, by string, rows []ledger.Row) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.ToUpper(by)+"\tTURNS\tTIME\tINPUT TOKENS\tOUTPUT TOKENS\tCOST")
	for _, r := range rows {
		took := (time.Duration(r.Seconds * float64(time.Second))).Round(time.Second)
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%d\t$%.2f\n", r.Name(), r.Turns, took, r.InputTokens, r.OutputTokens, r.Cost)
	}
	return w.Flush()
}
