package config

import (
	"strings"

	"nanobot/internal/placeholder"
)

// FilePlaceholder stands for a file in a command of hear or speak.
const FilePlaceholder = "{file}"

// Speak is a command that reads an answer on stdin and makes an audio file of it.
type Speak struct {
	Command string `json:"command" jsonschema_description:"Shell command that reads the text on stdin and writes {file}, an .ogg. Empty: no voice notes."`
	When    string `json:"when" jsonschema:"enum=voice,enum=always" jsonschema_description:"Speaks answers to messages with audio, or all answers."`
}

// The values of Speak.When.
const (
	SpeakVoice  = "voice"
	SpeakAlways = "always"
)

// checkHear reports commands of hear and speak that would not get their file.
func checkHear(t agentSection) (all []Problem) {
	check := func(path []string, command string) {
		switch {
		case !strings.Contains(command, FilePlaceholder):
			all = append(all, Problem{Path: path, Text: "must contain {file}, which is replaced by the file"})
		case !placeholder.EndsWords(t.Shell, command, FilePlaceholder):
			all = append(all, Problem{
				Path: path, Text: "must have {file} as a word of its own, without quotes: nanobot quotes it",
			})
		}
	}
	for kind, command := range t.Hear {
		path := joinPath(t.keyPath("hear"), kind)
		if !mediaPattern().MatchString(kind) {
			all = append(all, Problem{Path: path, Text: mediaText, AboutKey: true})
		}
		check(path, command)
	}
	if t.Speak.Command != "" {
		check(t.keyPath("speak.command"), t.Speak.Command)
	}
	return all
}
