package gateway_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/process"
)

// The agents of the benchmarks with warm processes. Each does what it does before its message, adds
// a byte to the file $READY if that is set, and then reads the envelope.
const (
	shAgent = `[ -z "$READY" ] || echo >>"$READY"; ` + trivial

	pythonAgent = `
import argparse, asyncio, datetime, json, logging, os, re, subprocess, sys, urllib.request
if "READY" in os.environ:
    with open(os.environ["READY"], "a") as f:
        f.write("\n")
envelope = json.loads(sys.stdin.readline())
print(json.dumps({"type": "message", "text": "hi"}), flush=True)
`

	nodeAgent = `
const child_process = require("child_process"), crypto = require("crypto"), fs = require("fs"), http = require("http"),
	https = require("https"), os = require("os"), path = require("path"), readline = require("readline"), url = require("url");
const lines = readline.createInterface({ input: process.stdin });
lines.once("line", (line) => {
	JSON.parse(line);
	console.log(JSON.stringify({ type: "message", text: "hi" }));
	lines.close();
});
if (process.env.READY) fs.appendFileSync(process.env.READY, "\n");
`

	goAgent = `package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if path := os.Getenv("READY"); path != "" {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		f.WriteString("\n")
		f.Close()
	}
	var envelope map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&envelope); err != nil {
		panic(err)
	}
	out, _ := json.Marshal(map[string]string{"type": "message", "text": "hi"})
	fmt.Println(string(out))
}
`
)

// benchAgents are the agents with the functions that prepare them in a folder and return their
// commands.
var benchAgents = []struct {
	name    string
	command func(b *testing.B, dir string) string
}{
	{"sh", func(*testing.B, string) string { return shAgent }},
	{"python", func(b *testing.B, dir string) string {
		// The python3 of a version manager is a slow script that starts the interpreter.
		out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output()
		if err != nil {
			b.Skipf("no python3: %v", err)
		}
		return "exec " + strings.TrimSpace(string(out)) + " " + writeAgent(b, dir, "agent.py", pythonAgent)
	}},
	{"node", func(b *testing.B, dir string) string {
		if _, err := exec.LookPath("node"); err != nil {
			b.Skipf("no node: %v", err)
		}
		return "exec node " + writeAgent(b, dir, "agent.js", nodeAgent)
	}},
	{"go", func(b *testing.B, dir string) string {
		program := filepath.Join(dir, "agent")
		if out, err := exec.Command("go", "build", "-o", program, writeAgent(b, dir, "agent.go", goAgent)).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		return "exec " + program
	}},
}

func writeAgent(b *testing.B, dir, name, source string) (path string) {
	b.Helper()
	path = filepath.Join(dir, name)
	musttest.Do(b, os.WriteFile(path, []byte(source), 0o600))
	return path
}

// warmComparison has one agent in three ways: with os/exec only, through a gateway that starts it
// for each message (cold), and through one whose processes wait for their messages (warm).
type warmComparison struct {
	bare       bareAgent
	cold, warm gatewayUnderLoad
	ready      string // has a byte for each process of the warm agent that was up
	turns      int    // of the warm agent
}

// gatewayUnderLoad is a gateway and functions that ask in one of its chats each.
type gatewayUnderLoad struct {
	*loopChannel
	asks []func() error
}

func (g *gatewayUnderLoad) ask(chat int) error { return g.asks[chat]() }

func newWarmComparison(b *testing.B, chats int, command func(*testing.B, string) string) *warmComparison {
	b.Helper()
	dir := b.TempDir()
	c := &warmComparison{ready: filepath.Join(dir, "ready")}
	c.bare = newBareAgent(b, dir, command(b, dir))
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	b.Cleanup(supervisor.Close)
	supervised := func(o *terminal.Options) { o.Supervisor = supervisor }
	c.cold.loopChannel, c.warm.loopChannel = newLoopChannel(), newLoopChannel()
	benchGateway(b, b.TempDir(), c.bare.command, c.cold.loopChannel, nil, supervised)
	benchGateway(b, b.TempDir(), c.bare.command, c.warm.loopChannel, nil, supervised, func(o *terminal.Options) {
		o.Warm, o.Config.Warm = true, config.Warm{Chats: chats, For: 300}
		o.Environ = append(o.Environ, "READY="+c.ready)
	})
	for i := range chats {
		c.cold.asks = append(c.cold.asks, c.cold.newAskerIn(strconv.Itoa(i)))
		c.warm.asks = append(c.warm.asks, c.warm.newAskerIn(strconv.Itoa(i)))
	}
	// The first runs read the interpreter from the disk.
	for _, f := range []func(int) error{func(int) error { return c.bare.run() }, c.cold.ask, c.warm.ask} {
		musttest.Do(b, inParallel(chats, 1, f)())
	}
	c.cold.awaitIdle(b)
	c.awaitWarm(b, chats)
	return c
}

// awaitWarm waits until a process is up for the next turn of each chat. So many turns have ended
// since the last call.
func (c *warmComparison) awaitWarm(b *testing.B, turns int) {
	b.Helper()
	c.turns += turns
	up := int64(c.turns + len(c.warm.asks))
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Microsecond) {
		info, err := os.Stat(c.ready)
		switch {
		case err == nil && info.Size() == up:
			c.warm.awaitIdle(b)
			return
		case err != nil || info.Size() > up || time.Now().After(deadline):
			b.Fatalf("%d processes were to be started: %+v (%v)", up, info, err)
		}
	}
}

// BenchmarkWarm compares agents in several languages, cold and warm, with bare os/exec of the same
// command.
func BenchmarkWarm(b *testing.B) {
	for _, agent := range benchAgents {
		b.Run(agent.name, func(b *testing.B) {
			b.Run("alone", func(b *testing.B) { benchWarmAlone(b, newWarmComparison(b, 1, agent.command)) })
			b.Run("burst32", func(b *testing.B) { benchWarmBurst(b, newWarmComparison(b, 32, agent.command)) })
			b.Run("throughput32", func(b *testing.B) { benchWarmThroughput(b, newWarmComparison(b, 32, agent.command)) })
		})
	}
}

// benchWarmAlone measures the time from a message to its answer in one chat, whose person writes
// when the next process waits.
func benchWarmAlone(b *testing.B, c *warmComparison) {
	var floors, colds, warms []time.Duration
	for b.Loop() {
		floors = append(floors, measureTime(b, c.bare.run))
		colds = append(colds, measureTime(b, c.cold.asks[0]))
		c.cold.awaitIdle(b)
		warms = append(warms, measureTime(b, c.warm.asks[0]))
		c.awaitWarm(b, 1)
	}
	reportWarm(b, floors, colds, warms)
}

// benchWarmBurst measures the times from 32 messages that are written at the same moment to their
// answers. A process waits for each of them.
func benchWarmBurst(b *testing.B, c *warmComparison) {
	people := len(c.warm.asks)
	var floors, colds, warms []time.Duration
	for b.Loop() {
		floors = append(floors, measureBurst(b, people, func(int) error { return c.bare.run() })...)
		colds = append(colds, measureBurst(b, people, c.cold.ask)...)
		c.cold.awaitIdle(b)
		warms = append(warms, measureBurst(b, people, c.warm.ask)...)
		c.awaitWarm(b, people)
	}
	reportWarm(b, floors, colds, warms)
}

func reportWarm(b *testing.B, floors, colds, warms []time.Duration) {
	b.ReportMetric(0, "ns/op") // of all three together, and of the time in between
	floor, cold, warm := quantile(floors, 0.5), quantile(colds, 0.5), quantile(warms, 0.5)
	b.ReportMetric(floor/1e6, "ms-floor")
	b.ReportMetric(cold/1e6, "ms-cold")
	b.ReportMetric(warm/1e6, "ms-warm")
	b.ReportMetric(cold/floor, "×floor-cold")
	b.ReportMetric(warm/floor, "×floor-warm")
}

// measureBurst calls f n times at the same moment and returns how long each call took from then on.
func measureBurst(b *testing.B, n int, f func(i int) error) []time.Duration {
	b.Helper()
	took := make([]time.Duration, n)
	var burst sync.WaitGroup
	began := time.Now()
	for i := range n {
		burst.Go(func() {
			if err := f(i); err != nil {
				b.Error(err)
			}
			took[i] = time.Since(began)
		})
	}
	burst.Wait()
	return took
}

// benchWarmThroughput measures how many turns a second 32 people get who write as soon as they have
// their answers. The warm measurement ends when all processes wait again, so it includes as many
// starts as turns.
func benchWarmThroughput(b *testing.B, c *warmComparison) {
	const each = 2
	people := len(c.warm.asks)
	var floors, colds, warms []time.Duration
	for b.Loop() {
		floors = append(floors, measureTime(b, inParallel(people, each, func(int) error { return c.bare.run() })))
		colds = append(colds, measureTime(b, inParallel(people, each, c.cold.ask)))
		c.cold.awaitIdle(b)
		warms = append(warms, measureTime(b, func() error {
			if err := inParallel(people, each, c.warm.ask)(); err != nil {
				return fmt.Errorf("warm: %w", err)
			}
			c.awaitWarm(b, people*each)
			return nil
		}))
	}
	b.ReportMetric(0, "ns/op")
	for name, took := range map[string][]time.Duration{"cold": colds, "warm": warms} {
		b.ReportMetric(quantile(floors, 0.5)/quantile(took, 0.5), "×floor-throughput-"+name)
		b.ReportMetric(float64(people*each)/(quantile(took, 0.5)/1e9), "turns/s-"+name)
	}
}
