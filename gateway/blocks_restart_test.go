package gateway_test

import (
	"testing"
	"time"

	"nanobot/terminal/blocks"
)

func TestTheNoticeAboutATaskThatWasCutOffNamesTheCommandThatContinuesIt(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `if [ -e up ]; then printf '[DONE]\nsecond time\n[/DONE]\n'; else touch up; exec sleep 300; fi`)
	fx.protocol = blocks.New(fx.terminal)
	fx.settings.DrainTimeout = 50 * time.Millisecond
	fx.start()
	fx.net.UserWrites("1", "u", "work")
	fx.awaitFile("up")
	fx.stop()
	fx.start()
	fx.awaitText("1", "I was restarted while working on this. /resume continues it.")
	fx.net.UserWrites("1", "u", "/resume")
	fx.awaitText("1", "second time")
}
