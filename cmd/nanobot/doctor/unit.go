package doctor

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/systemd"
)

// manyRestarts is how often a unit may be restarted before something is probably wrong.
const manyRestarts = 5

// checkUnit asks systemd about the unit of the config.
func (d *doctor) checkUnit(ctx context.Context, bot systemd.Bot, isBot bool) {
	const check = "systemd"
	if !isBot {
		d.ok(check, "no unit belongs to this config, since it is not under /etc/nanobot")
		return
	}
	s := systemd.Manager{Root: bot.Root}
	if !s.Runs() {
		d.ok(check, "systemd does not run here")
		return
	}
	unit := bot.Unit()
	d.unitName = unit
	all, err := s.Show(ctx, unit)
	if err != nil {
		d.report(check, channels.Doubtful, err.Error(), "look at it by hand: systemctl status "+unit)
		return
	}
	d.unit = all[unit]
	status, detail, fix := assessUnit(d.unit, unit)
	d.report(check, status, detail, fix)
}

// assessUnit assesses the state of a unit.
func assessUnit(u systemd.UnitState, unit string) (status channels.Verdict, detail, fix string) {
	look := fmt.Sprintf("journalctl -u %s -n 50 says why", unit)
	switch {
	case u.Load == "not-found":
		return channels.Doubtful, unit + " is not installed", "install the package, or copy deploy/systemd/*.service to /etc/systemd/system, and run systemctl daemon-reload"
	case u.Load != "loaded":
		return channels.Bad, fmt.Sprintf("%s is %s", unit, u.Load), "systemctl status " + unit + " says why"
	case u.State == "failed" && u.Exit == exit.Config:
		return channels.Bad, unit + " has failed because of its config", "correct what is said here, then systemctl restart " + unit
	case u.State == "failed":
		return channels.Bad, fmt.Sprintf("%s has failed (%s, exit status %d)", unit, u.Result, u.Exit), look
	case u.Crashes():
		return channels.Bad, fmt.Sprintf("%s does not stay up: it has ended (%s, exit status %d), was restarted %d times, and is tried again", unit, u.Result, u.Exit, u.Restart), look
	case u.State == "activating":
		return channels.Doubtful, fmt.Sprintf("%s is not ready yet (restarted %d times)", unit, u.Restart), "look again in a moment; " + look
	case !u.Active():
		return channels.Doubtful, fmt.Sprintf("%s is %s", unit, u.State), "systemctl enable --now " + unit
	case u.Restart >= manyRestarts:
		return channels.Doubtful, fmt.Sprintf("%s was restarted %d times", unit, u.Restart), look
	case u.File != "enabled" && u.File != "enabled-runtime":
		return channels.Doubtful, fmt.Sprintf("%s is %s and %s: it does not come back after a reboot", unit, u.State, u.File), "systemctl enable " + unit
	}
	return channels.Good, fmt.Sprintf("%s is %s and enabled", unit, u.State), ""
}
