package turn_test

import (
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/terminal"
)

// line fills one message of a chatNetwork.
const line = "twenty characters:  "

// untimed returns the texts of boards without the number of the step and the elapsed time.
func untimed(text string) string { return regexp.MustCompile(` \([^)]*\)`).ReplaceAllString(text, "") }

func TestAnAnswerThatIsBeingWrittenHasTheOnlyStopButton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &chatNetwork{}
		runWithBoard(t, n, func(emit func(terminal.Frame)) {
			time.Sleep(2 * time.Second)
			for i := range 20 { // a turn of three seconds has a board otherwise
				emit(partial(strings.Repeat("x", i+1)))
				time.Sleep(2 * time.Second)
				checkEqual(t, "shown", n.shown(), n.stoppable())
			}
			emit(partial(line + "two"))
			time.Sleep(5 * time.Second)
			checkEqual(t, "shown", n.shown(), line+"|two")
			checkEqual(t, "stoppable", n.stoppable(), "two")
			emit(message(line + "two"))
			time.Sleep(2 * time.Second)
			checkEqual(t, "stoppable at the end", n.stoppable(), "")
		})
		checkEqual(t, "shown at the end", n.shown(), line+"|two|✓ done, 49 s")
		checkEqual(t, "removed", n.called("remove"), "[]")
	})
}

func TestABoardWithoutStepsGivesWayToTheAnswer(t *testing.T) {
	for name, progress := range map[string]terminal.Frame{
		"it only says that the agent works": {}, "it has old progress": {Kind: terminal.Progress, Text: "Reading"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &chatNetwork{}
				runWithBoard(t, n, func(emit func(terminal.Frame)) {
					if progress.Kind != "" {
						emit(progress)
					}
					time.Sleep(10 * time.Second)
					board := n.shown()
					checkEqual(t, "stoppable", n.stoppable(), board)
					emit(partial("It"))
					time.Sleep(4 * time.Second)
					checkEqual(t, "shown", n.shown(), "It")
					checkEqual(t, "stoppable", n.stoppable(), "It")
					emit(terminal.Frame{Kind: terminal.Progress, Text: "Writing"})
					time.Sleep(4 * time.Second)
					checkEqual(t, "news", untimed(n.shown()), "It|⏳ Writing")
					checkEqual(t, "stoppable", n.stoppable(), "It")
					emit(message("It is."))
					time.Sleep(2 * time.Second)
					checkEqual(t, "soon", untimed(n.shown()), "It is.|⏳ Writing")
					time.Sleep(4 * time.Second)
					checkEqual(t, "stoppable again", untimed(n.stoppable()), "⏳ Writing")
				})
				checkEqual(t, "at the end", n.shown(), "It is.|✓ done, 24 s")
			})
		})
	}
}

func TestABoardWithStepsStaysWithoutItsButtonWhileTheAnswerIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &chatNetwork{}
		runWithBoard(t, n, func(emit func(terminal.Frame)) {
			emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: "run 1", Step: 1})
			time.Sleep(10 * time.Second)
			emit(partial("It"))
			time.Sleep(5 * time.Second)
			checkEqual(t, "shown", untimed(n.shown()), "⏳ run 1|It")
			checkEqual(t, "stoppable", n.stoppable(), "It")
			emit(message("It is."))
			emit(terminal.Frame{Kind: terminal.Progress, Board: true, Text: "run 2", Step: 2})
			time.Sleep(5 * time.Second)
			checkEqual(t, "stoppable", untimed(n.stoppable()), "⏳ run 2")
			emit(foldFrame(2, false))
		})
		checkEqual(t, "stoppable at the end", n.stoppable(), "")
	})
}

func TestATurnWhoseAnswerCannotBeShownHasABoard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &chatNetwork{}
		n.fault = func(call string) error {
			if strings.HasPrefix(call, "send silently It") {
				return refusedForGood
			}
			return nil
		}
		runWithBoard(t, n, func(emit func(terminal.Frame)) {
			emit(partial("It"))
			time.Sleep(20 * time.Second)
			emit(partial("It is"))
			time.Sleep(time.Second)
			checkEqual(t, "stoppable", untimed(n.stoppable()), "⏳ Working…")
			emit(message("It is."))
		})
		checkEqual(t, "at the end", n.shown(), "It is.")
	})
}
