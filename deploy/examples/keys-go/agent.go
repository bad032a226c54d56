// Command keys is an agent of protocol keys without a model: it does the task in the shell and
// looks at the screen.
package main

import "strings"

func main() {
	Run(func(s Step) Response {
		switch {
		case s.Step == 1:
			write := Command{Keystrokes: "echo by go > made; cat made\n", Duration: 0.5}
			return Response{Analysis: "A prompt.", Plan: "I write a file.", Commands: []Command{write}}
		case s.Step == 2 && !strings.Contains(s.Screen, "by go"):
			return Response{Analysis: "Nothing yet.", Plan: "I wait.", Commands: []Command{{Duration: 2}}}
		}
		return Response{Analysis: "The file is written.", Done: true}
	})
}
