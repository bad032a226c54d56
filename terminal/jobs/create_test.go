package jobs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/jobs"
)

func TestCreateReturnsAtOnce(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	id := s.startScript("until [ -e go ]; do sleep 0.01; done") // the test would hang if Create waited for the end
	if o := s.output(id); o.Exit != nil || o.Text != "" || o.Truncated {
		t.Fatalf("a running job says %+v", o)
	}
}

func TestArgumentsArePassedAsTheyAre(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	args := []string{"two words", `it's "quoted"`, "$HOME", "`id`", "*", "a;b|c&d", "", "\\", "-c", "--", "new\nline", "ünï"}
	self := musttest.Get(os.Executable())(t)
	text, e := s.runToEnd(jobs.Command{Line: self, Args: args, Env: []string{role + "=arguments"}})
	want := `"two words"` + "\n" + `"it's \"quoted\""` + "\n" + `"$HOME"` + "\n" + "\"`id`\"\n" + `"*"` + "\n" + `"a;b|c&d"` + "\n" +
		`""` + "\n" + `"\\"` + "\n" + `"-c"` + "\n" + `"--"` + "\n" + `"new\nline"` + "\n" + `"ünï"` + "\n"
	if text != want || formatExit(e) != "code 0" {
		t.Fatalf("%s: got %s", formatExit(e), text)
	}
}

func TestALineWithoutArgumentsIsForTheShellUnlessItIsAProgram(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	writeFile(t, filepath.Join(s.dir, "with space"), "#!/bin/sh\necho spaced $#\n")
	writeFile(t, filepath.Join(s.dir, "and & sign"), "#!/bin/sh\necho signed $#\n")
	writeFile(t, filepath.Join(s.dir, "-dash"), "#!/bin/sh\necho dashed\n")
	path := []string{"PATH=" + s.dir + ":" + os.Getenv("PATH"), "GREETING=hello"}
	for line, want := range map[string]string{
		"true && echo x":                   "x\n code 0",
		"echo 'a  b' \"$GREETING\"":        "a  b hello\n code 0",
		"printf 'b\\na\\n' | sort":         "a\nb\n code 0",
		"echo one; exit 3":                 "one\n code 3",
		"\n echo led by a line\n":          "led by a line\n code 0",
		"cd / && pwd":                      "/\n code 0",
		"GREETING=bye; echo $GREETING":     "bye\n code 0",
		"pwd":                              s.dir + "\n code 0",
		"with space":                       "spaced 0\n code 0",
		"./with space":                     "spaced 0\n code 0",
		filepath.Join(s.dir, "and & sign"): "signed 0\n code 0",
		"'with space' arg":                 "spaced 1\n code 0",
		"-dash ; echo also":                "dashed\nalso\n code 0",
		"kill -TERM $$":                    " SIGTERM",
	} {
		for _, args := range [][]string{nil, {}} {
			text, e := s.runToEnd(jobs.Command{Line: line, Args: args, Env: path})
			wanttest.Equal(t, line+":", text+" "+formatExit(e), want)
		}
	}
}

func TestTheShellOfTheSessionIsUsed(t *testing.T) {
	dir := t.TempDir()
	shell := filepath.Join(dir, "my-shell")
	writeFile(t, shell, "#!/bin/sh\necho \"$@\"\n")
	table := jobs.NewTable(jobs.Options{Dir: dir, Shell: shell})
	t.Cleanup(table.Close)
	s := session{table, t, dir}
	if text, _ := s.runToEnd(jobs.Command{Line: "some line"}); text != "-c some line\n" {
		t.Fatalf("got %q", text)
	}
}

func TestACommandThatCannotRunIsAnErrorAndGetsNoID(t *testing.T) {
	s := newSession(t, jobs.Limits{Jobs: 1})
	writeFile(t, filepath.Join(s.dir, "broken"), "#!/no/such/interpreter\n")
	musttest.Do(t, os.WriteFile(filepath.Join(s.dir, "data"), nil, 0o600))
	minus := -1
	for name, tc := range map[string]struct {
		c    jobs.Command
		says string
	}{
		"a name":                      {jobs.Command{Line: "no-such-program"}, `"no-such-program"`},
		"a name with arguments":       {jobs.Command{Line: "no-such-program", Args: []string{"x"}}, "unknown command"},
		"a shell line with arguments": {jobs.Command{Line: "echo x", Args: []string{"y"}}, "unknown command"},
		"a path":                      {jobs.Command{Line: "/no/such/program"}, "no such file"},
		"a relative path":             {jobs.Command{Line: "./program"}, "no such file"},
		"a folder":                    {jobs.Command{Line: "/usr"}, "is a folder"},
		"no program":                  {jobs.Command{Line: "./data"}, "is not a program"},
		"no interpreter":              {jobs.Command{Line: "./broken"}, "no such file"},
		"nothing":                     {jobs.Command{Line: ""}, "no command named"},
		"blanks":                      {jobs.Command{Line: " \n"}, "no command named"},
		"only arguments":              {jobs.Command{Args: []string{"x"}}, "no command named"},
		"a NUL in it":                 {jobs.Command{Line: "echo \x00"}, "invalid argument"},
		"a NUL in an argument":        {jobs.Command{Line: "echo", Args: []string{"\x00"}}, "invalid argument"},
		"another PATH":                {jobs.Command{Line: "ls", Env: []string{"PATH=/nowhere"}}, "in PATH"},
		"less than nothing":           {jobs.Command{Line: "ls", MaxOutput: &minus}, "0 is the least"},
		"far too much":                {jobs.Command{Line: "echo", Args: []string{strings.Repeat("x", 1<<22)}}, "too long"},
	} {
		if tc.c.Env == nil {
			tc.c.Env = usualEnv
		}
		id, err := s.Create(tc.c)
		if id != "" || err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: id %q, error %v, want one that says %q", name, id, err, tc.says)
		}
	}
	s.startScript("exit 0") // none of them counts
}

func TestTheFolderIsInsideTheRoots(t *testing.T) {
	base := musttest.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	at := func(name string) string { return filepath.Join(base, name) }
	for _, dir := range []string{"work/deep", "more", "outside", "workshop", "real"} {
		musttest.Do(t, os.MkdirAll(at(dir), 0o700))
	}
	writeFile(t, at("work/file"), "")
	for link, to := range map[string]string{
		"work/out": "outside", "work/in": "work/deep", "outside/back": "work/deep", "linked": "real", "work/gone": "nowhere",
	} {
		musttest.Do(t, os.Symlink(at(to), at(link)))
	}
	table := jobs.NewTable(jobs.Options{Dir: at("work"), Roots: []string{at("more"), at("linked"), at("not there")}})
	t.Cleanup(table.Close)
	s := session{table, t, base}
	for dir, want := range map[string]string{
		"": at("work"), at("work"): at("work"), at("work/deep/../deep/"): at("work/deep"), at("more"): at("more"), at("work/in"): at("work/deep"),
		at("outside/back"): at("work/deep"), at("linked"): at("real"), at("real"): at("real"),
	} {
		if text, _ := s.runToEnd(jobs.Command{Line: "pwd", Args: []string{"-P"}, Dir: dir}); text != want+"\n" {
			t.Errorf("%q: got %q, want %q", dir, text, want)
		}
	}
	for dir, says := range map[string]string{
		"deep": "absolute", ".": "absolute", "~": "absolute", at("outside"): "must be inside " + at("work"), at("workshop"): "must be inside",
		at("work/../outside"): "must be inside", at("work/out"): "must be inside", "/": "must be inside", base: "must be inside",
		at("nowhere"): "no such file", at("work/gone"): "no such file", at("work/file"): "is not a folder",
	} {
		id, err := s.Create(jobs.Command{Line: "pwd", Dir: dir, Env: usualEnv})
		if id != "" || err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%q: id %q, error %v, want one that says %q", dir, id, err, says)
		}
	}
	if text, _ := s.runToEnd(jobs.Command{Line: "pwd", Args: []string{"-L"}, Dir: at("work/in")}); text != at("work/in")+"\n" {
		t.Errorf("by its name: got %q", text)
	}
}

func TestACommandInheritsNoEnvironment(t *testing.T) {
	t.Setenv("BOT_TOKEN", "secret")
	s := newSession(t, jobs.Limits{})
	for _, env := range [][]string{nil, {}, {"A=1", "PWD=/wrong", "B=two words", "A=3"}} {
		id := musttest.Get(s.Create(jobs.Command{Line: "/usr/bin/env", Env: env}))(t)
		s.wait(id)
		want := "PWD=" + s.dir + "\n"
		if len(env) > 0 {
			want = "A=3\nPWD=" + s.dir + "\nB=two words\n"
		}
		if got := s.output(id).Text; sortLines(got) != sortLines(want) {
			t.Errorf("%q: got %q", env, got)
		}
	}
}

func TestJobsHaveNoInput(t *testing.T) {
	s := newSession(t, jobs.Limits{})
	text, e := s.runToEnd(jobs.Command{Line: "readlink /proc/self/fd/0; cat; echo end"})
	if text != "/dev/null\nend\n" || formatExit(e) != "code 0" {
		t.Fatalf("got %q, %s", text, formatExit(e))
	}
}
