package press_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nanobot/gateway/press"
	"nanobot/internal/musttest"
)

func TestTheDataOfButtonsInOldMessagesStaysTheSame(t *testing.T) {
	offer := press.Offer{Inbound: 7, Sequence: 2, Text: "Which?", Labels: []string{"Red", "Blue"}}
	for made, want := range map[string]string{
		press.Answer("0123456789abcdef", 2): "answer:0123456789abcdef:2",
		press.Decided("run.A1.3.2"):         "answer:run.A1.3.2",
		offer.Say()[1]:                      "say:7:2:0f8e909cf3d1:2",
		press.Stop(12):                      "stop:12",
		press.Cancel(12):                    "cancel:12",
		press.Again(12):                     "again:12",
		press.Details(12):                   "details:12",
		press.Rerun("55"):                   "rerun:55",
		press.Agent("coder"):                "agent:coder",
		press.Type("/run deploy"):           "/run deploy",
		press.Do("/run deploy"):             "do:/run deploy",
		press.RunQuestion{Run: "A1", Step: 3, Number: 2}.ID(): "run.A1.3.2",
	} {
		if made != want {
			t.Errorf("%q is now %q", want, made)
		}
	}
}

func TestWhatWasMadeIsParsed(t *testing.T) {
	if got, ok := press.ParseAnswer(press.Answer("run.A1.3.2", 2)); !ok || got != (press.Answered{Question: "run.A1.3.2", Option: 2}) {
		t.Errorf("an answer is %+v %t", got, ok)
	}
	if got, ok := press.ParseAnswer(press.Decided("q")); !ok || got != (press.Answered{Question: "q"}) {
		t.Errorf("a decided question is %+v %t", got, ok)
	}
	offer := press.Offer{Inbound: 7, Sequence: 2, Text: "Which?", Labels: []string{"Red", "Blue"}}
	red, ok := press.ParseSay(offer.Say()[0])
	if blue, _ := press.ParseSay(offer.Say()[1]); !ok || red.Inbound != 7 || red != blue {
		t.Errorf("the buttons of an offer are %+v and %+v", red, blue)
	}
	for data, want := range map[string][2]string{
		press.Stop(12): {"/stop", "12"}, press.Agent("coder"): {"/agent", "coder"}, press.Type("/run a: b"): {"/run", "a: b"}, "/key Up": {"/key", "Up"},
	} {
		if command, args := press.ParseCommand(data); command != want[0] || args != want[1] {
			t.Errorf("%q is the command %q with %q", data, command, args)
		}
	}
	if got, ok := press.ParseDo(press.Do("/run a: b")); !ok || got != "/run a: b" {
		t.Errorf("the text of a button is %q %t", got, ok)
	}
	q := press.RunQuestion{Run: "A1", Step: 3, Number: 2}
	if got, ok := press.ParseRunQuestion(q.ID()); !ok || got != q || !press.IsRunQuestion(q.ID()) {
		t.Errorf("a question about a run is %+v %t", got, ok)
	}
}

func TestOtherDataIsNotParsed(t *testing.T) {
	for _, data := range []string{"", "answer", "say", "saying:1:2:3:4", "stop:12", "/answer q 1"} {
		if got, ok := press.ParseAnswer(data); ok {
			t.Errorf("%q is the answer %+v", data, got)
		}
		if got, ok := press.ParseSay(data); ok {
			t.Errorf("%q says %+v", data, got)
		}
	}
	for _, id := range []string{"", "run", "running.A1.3.2", "run.A1.x.2", "run.A1.3"} {
		if got, ok := press.ParseRunQuestion(id); ok {
			t.Errorf("%q is about %+v", id, got)
		}
	}
}

func TestACommandThatIsTooLongHasNoButton(t *testing.T) {
	long := make([]byte, press.MaxData)
	if press.Type("/"+string(long)) != "" || press.Rerun(string(long)) != "" || press.Type(string(long)) == "" {
		t.Error("the limit is not that of a button")
	}
}

// A channel knows by its data which button shows something to one person only.
func TestNoOtherPackageSpellsTheDataOfButtons(t *testing.T) {
	kind := regexp.MustCompile("[\"`](answer|say|stop|cancel|again|rerun|details|agent):[%\"`]")
	files := 0
	musttest.Do(t, filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		product := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "test/")
		allowed := filepath.Base(path) == "press.go" || path == "../../channels/button.go" || strings.Contains(path, "/deploy/")
		if err != nil || !product || allowed {
			return err
		}
		source, err := os.ReadFile(path)
		if found := kind.Find(source); found != nil {
			t.Errorf("%s has %s", path, found)
		}
		files++
		return err
	}))
	if files < 500 {
		t.Errorf("only %d files were read", files)
	}
}
