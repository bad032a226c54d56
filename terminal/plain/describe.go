package plain

import (
	"fmt"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

// Name is the protocol's name in the configuration.
const Name = "plain"

// Describe describes the protocol.
func Describe() terminal.Description {
	return terminal.Description{
		Protocol: config.Protocol{
			Name: Name, Description: "text", SupportsFormat: true,
			SupportsWarm: true,
		},
		Open:        func(terminal.OpenOptions) terminal.Protocol { return Protocol{} },
		AssessTrial: assessTrial,
		Parser:      terminal.Parser{Object: `{"text":…,"media":[…],"format":…}`, Parse: parse},
	}
}

// assessTrial finds the trial good if the agent has printed text that is not meant for rich mode.
func assessTrial(t *terminal.Trial) terminal.Finding {
	frames, plain := t.CountFrames()
	for _, kind := range terminal.FrameTypes() {
		if frames[kind] > 0 {
			return terminal.Finding{
				Verdict: terminal.Doubtful, Detail: "plain: the output looks like frames",
				Fix: `set terminal.protocol to "rich"`,
			}
		}
	}
	if plain == 0 && len(frames) == 0 {
		return terminal.Finding{
			Verdict: terminal.Doubtful, Detail: "plain: printed nothing at all" + t.StderrSuffix(),
			Fix: t.ByHand,
		}
	}
	noun := "lines"
	if plain+len(frames) == 1 {
		noun = "line"
	}
	return terminal.Finding{Detail: fmt.Sprintf("plain: %d %s, exit status 0 in %s", plain+len(frames), noun,
		t.Took.Round(time.Millisecond))}
}
