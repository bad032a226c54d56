package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/config"
)

// botView is what list and status show of a bot.
type botView struct {
	Name     string   `json:"name"`
	Config   string   `json:"config"`
	Unit     string   `json:"unit"`
	Channels []string `json:"channels"`
	Problem  string   `json:"problem,omitempty"` // with the config: what is wrong with it, or why it cannot be read
	State    string   `json:"state"`             // active, inactive, failed …; unknown where systemd does not run
	Enabled  bool     `json:"enabled"`           // comes back after a reboot
	PID      int      `json:"pid,omitempty"`
	Restarts int      `json:"restarts,omitempty"`
	Result   string   `json:"result,omitempty"` // of what has failed, or failed just now and is tried again
	Exit     int      `json:"exit,omitempty"`
	Status   string   `json:"status,omitempty"` // what the daemon says of itself
	bad      bool     // is the config, and not merely out of reach
}

func newBotsList(b *bots) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the bots of this server",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all, err := b.all()
			if err != nil {
				return err
			}
			return b.show(all)
		},
	}
}

func newBotsStatus(b *bots) *cobra.Command {
	return &cobra.Command{
		Use:   "status [flags] [NAME]…",
		Short: "Say how bots are",
		Long:  `Status shows the bots that are named, or all. Exit status: 0 all of them are active, 1 one is not.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			chosen, err := b.named(args, len(args) == 0)
			if err != nil {
				return err
			}
			views, err := b.look(cmd.Context(), chosen)
			if err != nil {
				return err
			}
			if err := b.print(views); err != nil {
				return err
			}
			for _, v := range views {
				if v.State != "active" {
					return exit.Error{Status: exit.Failed}
				}
			}
			return nil
		},
	}
}

// look asks systemd about bots, once for all of them.
func (b *bots) look(ctx context.Context, chosen []systemd.Bot) ([]botView, error) {
	units := make([]string, len(chosen))
	for i, f := range chosen {
		units[i] = f.Unit()
	}
	states, err := systemd.Manager{Root: b.root}.Show(ctx, units...)
	if err != nil {
		return nil, err
	}
	views := make([]botView, len(chosen))
	for i, f := range chosen {
		v := botView{Name: f.Name, Config: f.Config(), Unit: f.Unit(), State: "unknown"}
		cfg, err := loadBot(f)
		if v.Channels = networksOf(cfg); err != nil {
			v.Problem, v.bad = err.Error(), errors.As(err, new(config.Mistakes))
		}
		if u, ok := states[f.Unit()]; ok {
			v.State, v.Enabled, v.PID, v.Restarts, v.Status = u.State, u.File == "enabled", u.PID, u.Restart, u.Status
			if u.Load != "loaded" {
				v.State = u.Load
			}
			if u.State == "failed" || u.Crashes() {
				v.Result, v.Exit = u.Result, u.Exit
			}
		}
		views[i] = v
	}
	return views, nil
}

func (b *bots) show(chosen []systemd.Bot) error {
	views, err := b.look(context.Background(), chosen)
	if err != nil {
		return err
	}
	return b.print(views)
}

func (b *bots) print(views []botView) error {
	if b.json {
		return format.WriteJSON(b.std.out, views)
	}
	if len(views) == 0 {
		_, err := fmt.Fprintln(b.std.out, "There are no bots here. Make one:  nanobot bots create NAME --command …")
		return err
	}
	w := tabwriter.NewWriter(b.std.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tENABLED\tPID\tRESTARTS\tCHANNELS\tREMARK")
	for _, v := range views {
		enabled, pid, remark := "no", "-", v.Status
		if v.Enabled {
			enabled = "yes"
		}
		if v.PID > 0 {
			pid = strconv.Itoa(v.PID)
		}
		switch {
		case v.bad:
			remark = "bad config: nanobot check-config --config " + v.Config
		case v.Result != "":
			remark = fmt.Sprintf("%s, exit status %d: nanobot doctor --config %s", v.Result, v.Exit, v.Config)
		case v.Problem != "":
			remark = v.Problem
		case v.State == "unknown":
			remark = "systemd does not run here"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", v.Name, v.State, enabled, pid, v.Restarts, strings.Join(v.Channels, ","), remark)
	}
	return w.Flush()
}
