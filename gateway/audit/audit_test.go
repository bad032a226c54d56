package audit_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"nanobot/gateway/audit"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func open(t *testing.T, o audit.Options) *audit.Log {
	t.Helper()
	if o.MaxSize == 0 {
		o.MaxSize, o.Keep = 1<<20, 2
	}
	l := musttest.Get(audit.Open(o))(t)
	t.Cleanup(l.Close)
	return l
}

// read returns the records of a file, which must be whole lines.
func read(t *testing.T, path string) (all []audit.Record) {
	t.Helper()
	b := musttest.Get(os.ReadFile(path))(t)
	for line := range bytes.Lines(b) {
		var r audit.Record
		if err := json.Unmarshal(line, &r); err != nil || line[len(line)-1] != '\n' {
			t.Errorf("%s has the line %q: %v", filepath.Base(path), line, err)
		}
		all = append(all, r)
	}
	return all
}

func runs(all []audit.Record) (n []int64) {
	for _, r := range all {
		n = append(n, r.Run)
	}
	return n
}

func TestARecordIsOneLineThatOnlyTheOwnerReads(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "audit.jsonl")
	l := open(t, audit.Options{Path: path})
	l.Write(audit.Record{
		Event: audit.TurnStart, Decision: audit.Allowed, Channel: "telegram", Chat: "7", User: audit.User{ID: "7", Name: "A\nda \u2028"},
		Run: 3, Attempt: 1, Launch: audit.Launch{Argv: []string{"/bin/sh", "-c", "agent {message}"}, Cwd: "/srv", Env: []string{"PATH"}},
		In: audit.Size{Bytes: 5, Media: 2}, Text: "my secret words",
	})
	all := read(t, path)
	if len(all) != 1 || all[0].User.Name != "A\nda \u2028" || all[0].Argv[2] != "agent {message}" || all[0].Time.IsZero() {
		t.Errorf("it has %+v", all)
	}
	b, _ := os.ReadFile(path)
	for _, word := range []string{"secret words", `"end"`, `"out"`, `"count"`} {
		if strings.Contains(string(b), word) {
			t.Errorf("%s is in %s", word, b)
		}
	}
	for _, at := range []string{path, filepath.Dir(path)} {
		if info, err := os.Stat(at); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v: %v", at, info.Mode(), err)
		}
	}
}

func TestEachFileDescribesALaunchOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	launch := audit.NewLaunch([]string{"agent", "--fast"}, "/srv", []string{"HOME", "PATH"})
	other := audit.NewLaunch([]string{"agent", "--slow"}, "/srv", []string{"HOME", "PATH"})
	write := func(l *audit.Log, launches ...audit.Launch) {
		for _, launch := range launches {
			l.Write(audit.Record{Event: audit.TurnStart, Launch: launch})
			l.Write(audit.Record{Event: audit.TurnEnd})
		}
	}
	events := func(path string) (events []string) {
		for _, r := range read(t, path) {
			described := len(r.Argv) == 2 && r.Cwd == "/srv" && len(r.Env) == 2
			if described != (r.Event == audit.Launched) || (r.Digest == "") != (r.Event == audit.TurnEnd) {
				t.Errorf("%s has %+v", filepath.Base(path), r)
			}
			events = append(events, r.Event)
		}
		return events
	}
	first := open(t, audit.Options{Path: path})
	write(first, launch, launch, other, launch)
	turn, described := []string{"turn.start", "turn.end"}, []string{"launch", "turn.start", "turn.end"}
	wanttest.EqualSlices(t, "two launches", events(path), slices.Concat(described, turn, described, turn))

	musttest.Do(t, os.Rename(path, path+".away"))
	write(first, launch)
	wanttest.EqualSlices(t, "a file after another was moved away", events(path), described)

	musttest.Do(t, os.Truncate(path, 0))
	write(first, launch)
	wanttest.EqualSlices(t, "a file that was truncated", events(path), described)

	second := open(t, audit.Options{Path: path, MaxSize: 300, Keep: 1})
	write(second, launch, launch)
	wanttest.EqualSlices(t, "a rotated file", events(path), described)
}

func TestTextIsWrittenOnlyWhereItIsAskedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	open(t, audit.Options{Path: path, Text: true}).Write(audit.Record{Text: "hello"})
	if all := read(t, path); len(all) != 1 || all[0].Text != "hello" {
		t.Errorf("it has %+v", all)
	}
}

func TestAWideModeIsNarrowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	musttest.Do(t, os.WriteFile(path, nil, 0o644))
	open(t, audit.Options{Path: path})
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v", info.Mode())
	}
}

func TestNoLogTakesEverything(*testing.T) {
	var l *audit.Log
	l.Write(audit.Record{})
	l.Close()
}

func TestRotationBySizeKeepsSoManyAndLosesNoLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	musttest.Do(t, os.WriteFile(path+".4", []byte("of a time when more were kept\n"), 0o600))
	musttest.Do(t, os.WriteFile(path+".3", nil, 0o600))
	const size = 1000
	l := open(t, audit.Options{Path: path, MaxSize: size, Keep: 3})
	for i := range 100 {
		l.Write(audit.Record{Run: int64(i + 1), Message: strings.Repeat("x", 100)})
	}
	var all []int64
	for _, name := range []string{path + ".3", path + ".2", path + ".1", path} {
		info, err := os.Stat(name)
		if err != nil || info.Size() > size || info.Size() < size/2 && name != path || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has %d bytes and the mode %v: %v", filepath.Base(name), info.Size(), info.Mode(), err)
		}
		all = append(all, runs(read(t, name))...)
	}
	for i, n := range all {
		if n != int64(100-len(all)+i+1) {
			t.Fatalf("the files have %v", all)
		}
	}
	if len(all) < 16 {
		t.Errorf("only %d records are kept", len(all))
	}
	if files, _ := filepath.Glob(path + "*"); len(files) != 4 {
		t.Errorf("there are %v", files)
	}
}

func TestKeepNoneStartsAnEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	l := open(t, audit.Options{Path: path, MaxSize: 200})
	for i := range 20 {
		l.Write(audit.Record{Run: int64(i)})
	}
	if files, _ := filepath.Glob(path + "*"); len(files) != 1 {
		t.Errorf("there are %v", files)
	}
	if all := runs(read(t, path)); len(all) == 0 || all[len(all)-1] != 19 {
		t.Errorf("it has %v", all)
	}
}

func TestALineThatACrashCutIsCutOff(t *testing.T) {
	for name, torn := range map[string]string{
		"short": `{"ru`, "long": `{"text":"` + strings.Repeat("x", 10_000), "zeros": strings.Repeat("\x00", 5000), "none": "",
	} {
		t.Run(name, func(t *testing.T) {
			for _, whole := range []string{"", `{"run":1}` + "\n", `{"run":1,"text":"` + strings.Repeat("y", 9000) + `"}` + "\n"} {
				path := filepath.Join(t.TempDir(), "a")
				musttest.Do(t, os.WriteFile(path, []byte(whole+torn), 0o600))
				open(t, audit.Options{Path: path}).Write(audit.Record{Run: 2})
				want := []int64{1, 2}
				if whole == "" {
					want = want[1:]
				}
				if got := runs(read(t, path)); !slices.Equal(got, want) {
					t.Errorf("after %d whole and %d torn bytes it has %v", len(whole), len(torn), got)
				}
			}
		})
	}
}

func TestAFileThatIsMovedAwayIsCreatedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	l := open(t, audit.Options{Path: path})
	l.Write(audit.Record{Run: 1})
	musttest.Do(t, os.Rename(path, path+"-moved"))
	l.Write(audit.Record{Run: 2})
	wanttest.EqualSlices(t, "it has", runs(read(t, path)), []int64{2})
}

func TestManyWritersAndAToolBesideThemKeepLinesWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	l := open(t, audit.Options{Path: path, MaxSize: 64 << 10, Keep: 1000})
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			for n := range 200 {
				l.Write(audit.Record{Run: int64(1000*i + n), Message: strings.Repeat("x", n)})
			}
		})
	}
	work.Go(func() {
		for n := range 50 {
			tool, err := audit.Open(audit.Options{Path: path, Beside: true, Failed: func(err error) { t.Error(err) }})
			if err != nil {
				t.Error(err)
				return
			}
			tool.Write(audit.Record{Event: audit.Pairing, Run: int64(100_000 + n)})
			tool.Close()
		}
	})
	work.Wait()
	seen := map[int64]int{}
	files, _ := filepath.Glob(path + "*")
	for _, f := range files {
		for _, n := range runs(read(t, f)) {
			seen[n]++
		}
	}
	if len(seen) != 8*200+50 || len(files) < 2 {
		t.Errorf("%d records in %d files", len(seen), len(files))
	}
}

func TestWhatIsNoFileIsRefusedAtOnce(t *testing.T) {
	for _, path := range []string{t.TempDir(), "/dev/null"} {
		if _, err := audit.Open(audit.Options{Path: path}); err == nil || !strings.HasPrefix(err.Error(), "open audit log: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestAFileThatCannotBeWrittenIsSaidOnceAndTheGapIsWrittenDown(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "logs", "a")
	var said []error
	l := open(t, audit.Options{Path: path, Failed: func(err error) { said = append(said, err) }})
	l.Write(audit.Record{Run: 1})
	musttest.Do(t, os.Rename(filepath.Join(dir, "logs"), filepath.Join(dir, "away")))
	if err := os.WriteFile(filepath.Join(dir, "logs"), nil, 0o600); err != nil { // in the way of the folder
		t.Fatal(err)
	}
	for i := range 3 {
		l.Write(audit.Record{Run: int64(2 + i)})
	}
	musttest.Do(t, errors.Join(os.Remove(filepath.Join(dir, "logs")), os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "logs"))))
	l.Write(audit.Record{Run: 5})
	all := read(t, path)
	if len(all) != 3 || all[1].Event != audit.Lost || all[1].Count != 3 || all[2].Run != 5 {
		t.Errorf("it has %+v", all)
	}
	if len(said) != 1 {
		t.Errorf("said is %v", said)
	}
}

// BenchmarkWrite is one record of a turn's start, as large as they usually are.
func BenchmarkWrite(b *testing.B) {
	l := musttest.Get(audit.Open(audit.Options{Path: filepath.Join(b.TempDir(), "a"), MaxSize: 10 << 20, Keep: 5}))(b)
	defer l.Close()
	r := audit.Record{
		Event: audit.TurnStart, Decision: audit.Allowed, Channel: "telegram", Chat: "123456789", User: audit.User{ID: "123456789", Name: "Ada"},
		In: audit.Size{Bytes: 50},
	}
	var env []string
	for i := range 30 {
		env = append(env, fmt.Sprintf("SOME_VARIABLE_%d", i))
	}
	r.Launch = audit.NewLaunch([]string{"/bin/sh", "-c", "python3 agent.py"}, "/srv/bot", env)
	for b.Loop() {
		l.Write(r)
	}
}

func TestALinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a"), filepath.Join(dir, "other")
	musttest.Do(t, os.Symlink(other, path))
	if _, err := audit.Open(audit.Options{Path: path}); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("it opens: %v", err)
	}
	musttest.Do(t, os.Remove(path))
	var said []error
	l := open(t, audit.Options{Path: path, Failed: func(err error) { said = append(said, err) }})
	if err := errors.Join(os.Rename(path, other), os.Symlink(other, path)); err != nil { // while it is open
		t.Fatal(err)
	}
	l.Write(audit.Record{Run: 1})
	if all := read(t, other); len(all) != 0 || len(said) != 1 {
		t.Errorf("it has %+v, said %v", all, said)
	}
}

func TestTheLinesOfAPersonAreRemovedWhileOthersAreWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	o := audit.Options{Path: path, MaxSize: 32 << 10, Keep: 1000}
	l := open(t, o)
	isEve := func(r audit.Record) bool { return r.User.ID == "eve" }
	var work sync.WaitGroup
	var written [4]int
	var end atomic.Bool
	for i := range written {
		work.Go(func() {
			for ; written[i] < 1000 && !end.Load(); written[i]++ {
				l.Write(audit.Record{Run: int64(1000*i + written[i]), Message: strings.Repeat("x", 300)})
			}
		})
	}
	const times = 15
	for range times {
		l.Write(audit.Record{User: audit.User{ID: "eve"}, Message: "marker"})
		wanttest.Equal(t, "lines", len(musttest.Get(audit.Lines(o, isEve))(t)), 1)
		wanttest.Equal(t, "removed", musttest.Get(audit.RemoveLines(o, isEve))(t), 1)
	}
	end.Store(true)
	work.Wait()
	seen := map[int64]int{}
	files, _ := filepath.Glob(path + "*")
	for _, f := range files {
		for _, n := range runs(read(t, f)) {
			seen[n]++
		}
		if b, _ := os.ReadFile(f); strings.Contains(string(b), "marker") {
			t.Errorf("%s has a line of the person", f)
		}
	}
	if all := written[0] + written[1] + written[2] + written[3]; len(seen) != all {
		t.Errorf("of %d records there are %d in %d files", all, len(seen), len(files))
	}
}

func TestLinesOfNoLogAreRemoved(t *testing.T) {
	o := audit.Options{Path: filepath.Join(t.TempDir(), "none")}
	wanttest.Equal(t, "removed", musttest.Get(audit.RemoveLines(o, func(audit.Record) bool { return true }))(t), 0)
	if files, _ := filepath.Glob(o.Path + "*"); len(files) > 0 {
		t.Errorf("there are %v", files)
	}
}
