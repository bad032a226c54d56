package doctor

import (
	"context"
	"fmt"

	"nanobot/cmd/nanobot/exit"
	"nanobot/cmd/nanobot/systemd"
)

// manyRestarts is the number of restarts from which something is probably wrong.
const manyRestarts = 5

// checkUnit asks systemd about the unit of the config.
func (d *doctor) checkUnit(ctx context.Context, bot systemd.Bot, isBot bool) findings {
	s, unit := systemd.Manager{Root: bot.Root}, bot.Unit()
	switch {
	case !isBot:
		return good("this config has no unit, because it is not in /etc/nanobot")
	case !s.Runs():
		return good("systemd does not run on this machine")
	}
	d.unitName = unit
	all, err := s.Show(ctx, unit)
	if err != nil {
		return doubtful(err.Error(), "check it with: systemctl status "+unit)
	}
	d.unit = all[unit]
	return assessUnit(d.unit, unit)
}

// assessUnit assesses the state of a unit.
func assessUnit(u systemd.UnitState, unit string) findings {
	readLog := fmt.Sprintf("journalctl -u %s -n 50 shows the reason", unit)
	switch {
	case u.Load == "not-found":
		return doubtful(unit+" is not installed",
			"install the package, or copy deploy/systemd/*.service to /etc/systemd/system, and run systemctl daemon-reload")
	case u.Load != "loaded":
		return bad(fmt.Sprintf("%s is %s", unit, u.Load), "systemctl status "+unit+" shows the reason")
	case u.State == "failed" && u.Exit == exit.Config:
		return bad(unit+" has failed because of its config", "correct the config as reported here, then systemctl restart "+
			unit)
	case u.State == "failed":
		return bad(fmt.Sprintf("%s has failed (%s, exit status %d)", unit, u.Result, u.Exit), readLog)
	case u.Crashes():
		return bad(fmt.Sprintf("%s keeps crashing: it has ended (%s, exit status %d), was restarted %d times, and will be "+
			"restarted again", unit, u.Result, u.Exit, u.Restart), readLog)
	case u.State == "activating":
		return doubtful(fmt.Sprintf("%s is not ready yet (restarted %d times)", unit, u.Restart),
			"run this again in a moment; "+readLog)
	case !u.Active():
		return doubtful(fmt.Sprintf("%s is %s", unit, u.State), "systemctl enable --now "+unit)
	case u.Restart >= manyRestarts:
		return doubtful(fmt.Sprintf("%s was restarted %d times", unit, u.Restart), readLog)
	case u.File != "enabled" && u.File != "enabled-runtime":
		return doubtful(fmt.Sprintf("%s is %s but %s, so it does not start after a reboot", unit, u.State, u.File),
			"systemctl enable "+unit)
	}
	return good("%s is %s and enabled", unit, u.State)
}
