package doctor

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/telegram"
	"nanobot/cmd/nanobot/bots"
	"nanobot/cmd/nanobot/systemd"
	"nanobot/cmd/nanobot/systemd/systemdtest"
	"nanobot/config"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/dbfile"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

var (
	network = telegram.Describe(telegram.Timing{})
	parts   = config.Extensions{Channels: []config.Channel{network.Channel}}
)

func load(path string) (*config.Config, error) { return config.Load(path, os.Environ(), parts) }

// openTelegram is the Prepare of a bot that is on Telegram.
func openTelegram(cfg *config.Config) (Prepared, error) {
	ch, err := network.Open(channels.OpenOptions{
		Settings: cfg.Channels[telegram.Name], StateDir: cfg.Gateway.StateDir, State: dbfile.NewWatch(), Log: zap.NewNop(),
		Folder: func(chat string) (*os.Root, error) { return terminal.UserRoot(cfg.Workspace, "", chat) },
	})
	return Prepared{Channels: map[string]channels.Channel{telegram.Name: ch}}, err
}

func TestDoctorFindsTheSecretsAndTheStateOfAServersBot(t *testing.T) {
	f := systemdtest.New(t)
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	t.Setenv("STATE_DIRECTORY", "")
	token := filepath.Join(f.Root, "token")
	musttest.Do(t, os.WriteFile(token, []byte("123456:abcdef\n"), 0o600))
	server := bots.Server{Networks: []channels.Description{network}, Extensions: parts, Root: f.Root, Out: io.Discard, Err: io.Discard}
	musttest.Do(t, server.Create("faq", bots.Draft{Command: "cat", TokenFiles: map[string]*string{telegram.Name: &token}}))
	state := filepath.Join(f.Root, "var/lib/nanobot/faq")
	musttest.Do(t, os.MkdirAll(state, 0o700))
	f.SetUnits(systemdtest.UnitText("faq", "loaded", "enabled", "active", "success", 0, 4711, 0))
	d := &doctor{Options: Options{Path: filepath.Join(f.Root, "etc/nanobot/faq/config.json"), Load: load, Prepare: openTelegram}}
	bot, _ := systemd.FindBot(d.Path)
	bot.SetEnviron()
	if open, ok := d.checkConfig(bot, true); !ok || open.Channels["telegram"] == nil {
		t.Errorf("found %+v", d.findings)
	}
	if d.cfg == nil || d.cfg.Gateway.StateDir != "/var/lib/nanobot/faq" || os.Getenv("STATE_DIRECTORY") != state {
		t.Errorf("the state is not in %s", state)
	}
}

func TestTheLockTellsWhetherADaemonRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	musttest.Do(t, os.WriteFile(path, []byte(`{"terminal": {"command": "echo ok"}}`), 0o600))
	cfg := musttest.Get(config.Load(path, nil, parts))(t)
	lock := filepath.Join(cfg.Gateway.StateDir, "daemon.lock")
	want := func(pid int) {
		t.Helper()
		if got, err := lockingProcess(lock); got != pid || err != nil {
			t.Errorf("got %d, %v, want %d", got, err, pid)
		}
	}
	want(0)
	s := musttest.Get(sqlite.Open(t.Context(), cfg.Gateway.StateDir, sqlite.Options{}))(t)
	want(os.Getpid())
	musttest.Do(t, s.Close())
	want(0) // the number is still in it, and is that of a process
	musttest.Do(t, os.WriteFile(lock, []byte("nonsense\n"), 0o600))
	want(0)
}

func TestSpace(t *testing.T) {
	for _, c := range []struct {
		bytes, files, free uint64
		status             channels.Verdict
		words              string
	}{
		{10 << 30, 1000, 900000, channels.Good, "10.0 GiB"},
		{10 << 30, 0, 0, channels.Good, "10.0 GiB"}, // a file system that counts none
		{200 << 20, 0, 0, channels.Doubtful, "200 MiB"},
		{1 << 20, 0, 0, channels.Bad, "1 MiB"},
		{10 << 30, 1000, 300, channels.Doubtful, "300 files"},
		{10 << 30, 1000, 0, channels.Bad, "0 files"},
	} {
		if f := assessSpace("/x", c.bytes, c.files, c.free)[0]; f.Status != c.status || !strings.Contains(f.Detail, c.words) {
			t.Errorf("%+v: %+v", c, f)
		}
	}
}

func TestAUnitThatKeepsCrashingIsAFailure(t *testing.T) {
	u := systemd.UnitState{Load: "loaded", File: "enabled", State: "activating", Sub: "auto-restart", Result: "exit-code", Exit: 200, Restart: 2}
	f := assessUnit(u, "nanobot@faq.service")[0]
	if f.Status != channels.Bad || !strings.Contains(f.Detail, "exit-code, exit status 200") || !strings.Contains(f.Fix, "journalctl -u nanobot@faq.service") {
		t.Error(f)
	}
	u.Sub = "start"
	if f := assessUnit(u, "nanobot@faq.service")[0]; f.Status != channels.Doubtful || !strings.Contains(f.Detail, "restarted 2 times") {
		t.Error(f)
	}
}

func TestDoctorNamesWhatAUnitHides(t *testing.T) {
	for command, want := range map[string]string{
		"python3 /root/agent.py": "/root/agent.py", "cd '/home/ann/my bot' && ./run": "/home/ann/my", "run --dir=/home/ann": "/home/ann", "ls /root": "/root",
		"/srv/home/run": "", "cat /homestead": "", "/opt/root/x": "",
	} {
		got := ""
		if m := hiddenFolder().FindStringSubmatch(command); m != nil {
			got = m[2] + m[3]
		}
		wanttest.Equal(t, command+":", got, want)
	}
}
