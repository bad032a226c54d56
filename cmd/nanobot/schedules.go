package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nanobot/channels"
	"nanobot/cmd/nanobot/format"
	"nanobot/config"
	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
)

func newSchedulesCommand(std stdio) *cobra.Command {
	var path string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "schedules [flags]",
		Short: "List the schedules, with their next and last occurrences",
		Long: `Schedules lists the schedules of the config and those that were made in chats, whether the daemon runs or not. An
occurrence has ran when it was due, was caught-up after a downtime, or was skipped, with the reason. With --json it
prints [{"name":…,"next":…,"timezone":…,"occurrences":[{"due":…,"outcome":…,"reason":…}]}] with the last 100
occurrences of each, newest first.`,
		Example: `  nanobot schedules
  nanobot schedules --json --config /etc/nanobot/mybot/config.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadForCommand(path)
			if err != nil {
				return err
			}
			report := func(stored store.Schedules) error {
				all, err := schedule.Report(cmd.Context(), stored, newSchedules(cfg), schedule.MaxReported)
				if err == nil && asJSON {
					err = format.WriteJSON(std.out, all)
				} else if err == nil {
					err = writeSchedules(std.out, all)
				}
				return err
			}
			if !hasState(cfg) {
				return report(nil) // the daemon was never started
			}
			return asStateOwner(cfg, std, func() error {
				db, err := openStore(cmd.Context(), cfg, true)
				if err != nil {
					return err
				}
				return errors.Join(report(db), closeStore(db))
			})
		},
	}
	addConfigFlag(cmd, &path)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func writeSchedules(out io.Writer, all []schedule.Status) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tNEXT\tTIME ZONE\tLAST")
	for _, s := range all {
		fmt.Fprintln(w, s)
	}
	return w.Flush()
}

// nextOccurrences returns a line with the next three occurrences of each configured schedule.
func nextOccurrences(cfg *config.Config) (lines []string) {
	configured := newSchedules(cfg)
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		plan, _ := schedule.Parse(configured[name].Spec)
		var next []string
		for _, t := range plan.Next(time.Now(), 3) {
			next = append(next, t.Format(time.RFC3339))
		}
		lines = append(lines, name+": "+cmp.Or(strings.Join(next, ", "), "never again"))
	}
	return lines
}

// checkSchedule returns the mistakes of a configured schedule that package config cannot find.
func checkSchedule(s config.Schedule) []config.Problem {
	var all []config.Problem
	_, mistakes := schedule.Parse(scheduleSpec(s, ""))
	for _, m := range mistakes {
		all = append(all, config.Problem{Path: []string{m.Key}, Text: m.Text})
	}
	return all
}

// checkZone returns what is wrong with the name of a time zone, or "".
func checkZone(name string) string {
	if _, err := schedule.LoadZone(name); err != nil {
		return err.Error()
	}
	return ""
}

// scheduleSpec returns a schedule of the config as the gateway knows it.
func scheduleSpec(s config.Schedule, zone string) schedule.Spec {
	return schedule.Spec{
		Cron: s.Cron, At: s.At, Timezone: cmp.Or(s.Timezone, zone), Text: s.Text, Agent: s.Agent, Runbook: s.Runbook,
		Say: s.Say,
	}
}

// newSchedules returns the schedules of a config that has no mistakes.
func newSchedules(cfg *config.Config) map[string]schedule.Configured {
	all := map[string]schedule.Configured{}
	for name, s := range cfg.Schedules {
		if plan, mistakes := schedule.Parse(scheduleSpec(s, cfg.Gateway.Timezone)); len(mistakes) == 0 {
			chat, _ := channels.ParseChat(s.Chat)
			all[name] = schedule.Configured{Chat: chat, Spec: plan.Spec}
		}
	}
	return all
}
