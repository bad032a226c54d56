package doctor

import (
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/systemd"
)

// manyRestarts is the number of restarts from which something is probably wrong.
const manyRestarts = 5

// checkUnit asks systemd about the unit of the config.
func (d *doctor) checkUnit(ctx context.Context, bot systemd.Bot, isBot bool) {
	const check = "systemd"
	if !isBot {
		d.reportOK(check, "this config has no unit, because it is not in /etc/nanobot")
		return
	}
	s := systemd.Manager{Root: bot.Root}
	if !s.Runs() {
		d.reportOK(check, "systemd does not run on this machine")
		return
	}
	unit := bot.Unit()
	d.unitName = unit
	all, err := s.Show(ctx, unit)
	if err != nil {
		d.report(check, channels.Doubtful, err.Error(), "check it with: systemctl status "+unit)
		return
	}
	d.unit = all[unit]
	status, detail, fix := assessUnit(d.unit, unit)
	d.report(check, status, detail, fix)
}

// assessUnit assesses the state of a unit.
func assessUnit(u systemd.UnitState, unit string) (status channels.Verdict, detail, fix string) {
	readLog := fmt.Sprintf("journalctl -u %s -n 50 shows the reason", unit)
	switch {
	case u.Load == "not-found":
		return channels.Doubtful, unit + " is not installed", "install the package, or copy deploy/systemd/*.service to /etc/systemd/system, and run systemctl daemon-reload"
	case u.Load != "loaded":
		return channels.Bad, fmt.Sprintf("%s is %s", unit, u.Load), "systemctl status " + unit + " shows the reason"
	case u.State == "failed" && u.Exit == exit.Config:
		return channels.Bad, unit + " has failed because of its config", "correct the config as reported here, then systemctl restart " + unit
	case u.State == "failed":
		return channels.Bad, fmt.Sprintf("%s has failed (%s, exit status %d)", unit, u.Result, u.Exit), readLog
	case u.Crashes():
		return channels.Bad, fmt.Sprintf("%s keeps crashing: it has ended (%s, exit status %d), was restarted %d times, and will be restarted again", unit, u.Result, u.Exit, u.Restart), readLog
	case u.State == "activating":
		return channels.Doubtful, fmt.Sprintf("%s is not ready yet (restarted %d times)", unit, u.Restart), "run this again in a moment; " + readLog
	case !u.Active():
		return channels.Doubtful, fmt.Sprintf("%s is %s", unit, u.State), "systemctl enable --now " + unit
	case u.Restart >= manyRestarts:
		return channels.Doubtful, fmt.Sprintf("%s was restarted %d times", unit, u.Restart), readLog
	case u.File != "enabled" && u.File != "enabled-runtime":
		return channels.Doubtful, fmt.Sprintf("%s is %s but %s, so it does not start after a reboot", unit, u.State, u.File), "systemctl enable " + unit
	}
	return channels.Good, fmt.Sprintf("%s is %s and enabled", unit, u.State), ""
}
