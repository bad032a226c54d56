package bots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/format"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/config"
)

// View is what List and Status print of a bot.
type View struct {
	Name     string   `json:"name"`
	Config   string   `json:"config"`
	Unit     string   `json:"unit"`
	Channels []string `json:"channels"`
	Problem  string   `json:"problem,omitempty"` // with the config: what is wrong with it, or why it cannot be read
	State    string   `json:"state"`             // active, inactive, failed …; unknown where systemd does not run
	Enabled  bool     `json:"enabled"`           // starts after a reboot
	PID      int      `json:"pid,omitempty"`
	Restarts int      `json:"restarts,omitempty"`
	Result   string   `json:"result,omitempty"` // of what has failed, or failed just now and is tried again
	Exit     int      `json:"exit,omitempty"`
	Status   string   `json:"status,omitempty"` // the status text of the daemon
	bad      bool     // the config has mistakes, and is not only unreadable
}

// List prints all bots of the server.
func (s *Server) List() error {
	all, err := s.allBots()
	if err != nil {
		return err
	}
	return s.printBots(all)
}

// Status prints the bots that are named, or all. It returns a silent exit.Error unless all of them
// are active.
func (s *Server) Status(ctx context.Context, names []string) error {
	chosen, err := s.selectBots(names, len(names) == 0)
	if err != nil {
		return err
	}
	views, err := s.queryUnits(ctx, chosen)
	if err != nil {
		return err
	}
	if err := s.printViews(views); err != nil {
		return err
	}
	for _, v := range views {
		if v.State != "active" {
			return exit.Error{Status: exit.Failed}
		}
	}
	return nil
}

// queryUnits asks systemd about all bots by one call.
func (s *Server) queryUnits(ctx context.Context, chosen []systemd.Bot) ([]View, error) {
	units := make([]string, len(chosen))
	for i, f := range chosen {
		units[i] = f.Unit()
	}
	states, err := systemd.Manager{Root: s.Root}.Show(ctx, units...)
	if err != nil {
		return nil, err
	}
	views := make([]View, len(chosen))
	for i, f := range chosen {
		v := View{Name: f.Name, Config: f.Config(), Unit: f.Unit(), State: "unknown"}
		cfg, err := s.loadConfig(f)
		if v.Channels = channelNames(cfg); err != nil {
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

func (s *Server) printBots(chosen []systemd.Bot) error {
	views, err := s.queryUnits(context.Background(), chosen)
	if err != nil {
		return err
	}
	return s.printViews(views)
}

func (s *Server) printViews(views []View) error {
	if s.JSON {
		return format.WriteJSON(s.Out, views)
	}
	if len(views) == 0 {
		_,
			err := fmt.Fprintln(s.Out, "There are no bots on this server. To create one:  nanobot bots create NAME --command …")
		return err
	}
	w := tabwriter.NewWriter(s.Out, 0, 8, 2, ' ', 0)
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
			remark = "systemd does not run on this machine"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", v.Name, v.State, enabled, pid, v.Restarts,
			strings.Join(v.Channels, ","), remark)
	}
	return w.Flush()
}

// channelNames names the channels that a config enables, in order; a config that could not be read
// has none.
func channelNames(cfg *config.Config) []string {
	names := []string{}
	if cfg == nil {
		return names
	}
	for name, settings := range cfg.Channels {
		if settings.On() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
