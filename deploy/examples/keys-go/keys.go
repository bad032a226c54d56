package main

// What an agent of protocol keys with "agent": "line" needs, in one file: copy it beside yours.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Step is one step of the task: what the terminal shows, and its number from 1 on.
type Step struct {
	Instruction string `json:"instruction"`
	Screen      string `json:"screen"`
	Step        int    `json:"step"`
}

// Command is text, such as "ls\n", or the name of one key, such as "C-c"; then a wait in seconds.
type Command struct {
	Keystrokes string  `json:"keystrokes"`
	Duration   float64 `json:"duration"`
}

// Response answers a step. The task ends with the second one in a row that says it is done.
type Response struct {
	Analysis string    `json:"analysis"`
	Plan     string    `json:"plan"`
	Commands []Command `json:"commands"`
	Done     bool      `json:"task_complete"`
}

// Run answers each step until there are no more.
func Run(answer func(Step) Response) {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout) // which write one line at once
	for {
		var step Step
		err := in.Decode(&step)
		if errors.Is(err, io.EOF) {
			return
		}
		response := Response{}
		if err == nil {
			response = answer(step)
			if response.Commands == nil {
				response.Commands = []Command{} // null is no list
			}
			err = out.Encode(response)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "agent:", err)
			os.Exit(1)
		}
	}
}
