package rich

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"nanobot/config"
	"nanobot/terminal"
)

// Name is the protocol's name in the configuration.
const Name = "rich"

// Describe describes the protocol.
func Describe() terminal.Description {
	return terminal.Description{
		Protocol: config.Protocol{
			Name: Name, Description: "lines of JSON", SupportsQuestions: true,
			SupportsInject: true, SupportsFormat: true, SupportsWarm: true,
		},
		Open:        func(terminal.OpenOptions) terminal.Protocol { return Protocol{} },
		AssessTrial: assessTrial,
		Parser:      terminal.Parser{Object: `{"frames":[{"type":…,"text":…}],"text":…}, where text has the lines that are not frames`, Parse: parse},
		Schema:      schema,
	}
}

// assessTrial finds the trial good if the agent has printed frames, all of known types.
func assessTrial(t *terminal.Trial) terminal.Finding {
	frames, plain := t.CountFrames()
	var known []string
	n := 0
	for _, kind := range terminal.FrameTypes() {
		if frames[kind] > 0 {
			known = append(known, fmt.Sprintf("%d %s", frames[kind], kind))
			n += frames[kind]
			delete(frames, kind)
		}
	}
	doubt := func(detail, fix string) terminal.Finding {
		return terminal.Finding{Verdict: terminal.Doubtful, Detail: detail, Fix: fix}
	}
	switch {
	case len(frames) > 0:
		return doubt(fmt.Sprintf("rich: frames of a type that is unknown and ignored: %.200q",
			slices.Sorted(maps.Keys(frames))), "the types are "+strings.Join(terminal.FrameTypes(), ", "))
	case n == 0 && plain == 0:
		return doubt("rich: printed nothing at all"+t.StderrSuffix(), t.ByHand+"; an agent that buffers must flush")
	case n == 0:
		return doubt(fmt.Sprintf("rich: printed %d lines and no frame", plain),
			`set terminal.protocol to "plain", or print one JSON object a line`)
	}
	detail := fmt.Sprintf("rich: %s, %d plain lines, exit status 0 in %s", strings.Join(known, ", "), plain,
		t.Took.Round(time.Millisecond))
	for _, f := range t.Frames {
		if f.Kind == terminal.Error {
			return doubt(detail+"; it says "+f.Text, "nothing if it is right to refuse such a message")
		}
	}
	return terminal.Finding{Detail: detail}
}
