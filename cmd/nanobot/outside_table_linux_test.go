package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest/fast"
	"nanobot/internal/musttest"
)

// grid is a table of medians.
type grid struct {
	columns []string // the first one names the rows
	rows    []string
	values  map[string][][]float64 // by row and column
}

func newGrid(columns ...string) *grid {
	return &grid{columns: columns, values: map[string][][]float64{}}
}

func newTurnsGrid() *grid {
	return newGrid("turns", "p50 ms", "p95 ms", "turns/s", "CPU per turn, µs: caller", "agents", "server")
}

// add adds one value to each column of a row. 0 stands for no value.
func (g *grid) add(row string, values ...float64) {
	if g.values[row] == nil {
		g.rows = append(g.rows, row)
		g.values[row] = make([][]float64, len(values))
	}
	for i, v := range values {
		g.values[row][i] = append(g.values[row][i], v)
	}
}

// addTurns adds what turns took, and the processor time that all of them used.
func (g *grid) addTurns(row string, all []time.Duration, took time.Duration, caller, agents, server time.Duration) {
	slices.Sort(all)
	n := len(all)
	each := func(used time.Duration) float64 { return float64(used.Microseconds()) / float64(n) }
	ms := func(d time.Duration) float64 { return d.Seconds() * 1e3 }
	g.add(row, ms(all[n/2]), ms(all[n*95/100]), float64(n)/took.Seconds(), each(caller), each(agents), each(server))
}

// print prints the medians as a table in Markdown.
func (g *grid) print() {
	fmt.Printf("\n| %s |\n|%s\n", strings.Join(g.columns, " | "), strings.Repeat(" --- |", len(g.columns)))
	for _, row := range g.rows {
		cells := []string{row}
		for _, values := range g.values[row] {
			slices.Sort(values)
			cells = append(cells, formatFigure(values[len(values)/2]))
		}
		fmt.Printf("| %s |\n", strings.Join(cells, " | "))
	}
}

// formatFigure shows three digits.
func formatFigure(v float64) string {
	switch {
	case v == 0:
		return ""
	case v >= 100:
		return strconv.Itoa(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// smallACPAgent answers prompts with one piece of text. It starts as fast as sh.
const smallACPAgent = `while read -r line; do
	id=${line#*'"id":'}; id=${id%%[,\}]*}; result={}
	case $line in
	*'"initialize"'*) result='{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}';;
	*'"session/new"'*) result='{"sessionId":"s"}';;
	*'"session/prompt"'*)
		result='{"stopReason":"end_turn"}'
		echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}';;
	esac
	case $line in *'"id":'*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}";; esac
done
`

// buildUnlimited builds the binary from a source without the rate limits of Telegram and without
// the wait for what belongs to a text. Both would be measured instead of the daemon.
func buildUnlimited(b *testing.B) string {
	b.Helper()
	const set, unset = "Timing: timing,", "Timing: Timing{Comment: -1}, Unpaced: true,"
	file := musttest.Get(filepath.Abs("../../channels/telegram/settings.go"))(b)
	source := string(musttest.Get(os.ReadFile(file))(b))
	if strings.Count(source, set) != 1 {
		b.Fatalf("%s sets the timing elsewhere", file)
	}
	dir := b.TempDir()
	changed, overlay := filepath.Join(dir, "settings.go"), filepath.Join(dir, "overlay.json")
	musttest.Do(b, os.WriteFile(changed, []byte(strings.Replace(source, set, unset, 1)), 0o600))
	content := musttest.Get(json.Marshal(map[string]any{"Replace": map[string]string{file: changed}}))(b)
	musttest.Do(b, os.WriteFile(overlay, content, 0o600))
	return buildBinary(b, "-overlay", overlay)
}

// outside is the measurement of daemons from outside.
type outside struct {
	b                    *testing.B
	script               string              // the agent as a file
	released             *outsideBot         // nothing is switched off
	direct               *outsideBot         // its agent is the script, which needs no shell
	states               map[int]*outsideBot // by the number of chats in the state
	agents               map[int]*outsideBot // with ACP, by the number of chats that write
	turns, memory, start *grid
	fresh                map[int][]float64 // private memory after the start, by the number of chats in the state
}

var outsideStates, outsideAgents = []int{10, 10_000, 100_000}, []int{16, 100}

// BenchmarkFromOutside prints tables of turns through the real binary and a fast Bot API server,
// each in a process of its own, beside bare processes in the same rounds: medians of three rounds,
// and of twenty starts.
func BenchmarkFromOutside(b *testing.B) {
	o := &outside{
		b: b, script: filepath.Join(b.TempDir(), "agent"), states: map[int]*outsideBot{}, agents: map[int]*outsideBot{},
		turns: newTurnsGrid(), start: newGrid("from exec to the first getUpdates", "ms"),
		memory: newGrid("MiB", "after the start, private", "idle after turns, private", "the same, RSS", "32 chats write, RSS"),
	}
	musttest.Do(b, os.WriteFile(o.script, []byte("#!/bin/sh\n"+trivialAgent+"\n"), 0o700))
	acpAgent := filepath.Join(b.TempDir(), "acp.sh")
	musttest.Do(b, os.WriteFile(acpAgent, []byte(smallACPAgent), 0o600))
	fmt.Printf("\nLoad before: %s", musttest.Get(os.ReadFile("/proc/loadavg"))(b))
	unlimited := buildUnlimited(b)
	o.released = newOutsideBot(b, buildBinary(b), telegramSetup{command: trivialAgent}, 10)
	o.direct = newOutsideBot(b, unlimited, telegramSetup{command: o.script}, 10)
	for _, n := range outsideStates {
		o.states[n] = newOutsideBot(b, unlimited, telegramSetup{command: trivialAgent}, n)
	}
	for _, n := range outsideAgents {
		o.agents[n] = newOutsideBot(b, unlimited, telegramSetup{command: "exec sh " + acpAgent, protocol: "acp"}, 10)
	}
	o.measureStarts()
	o.startAll()
	for range 3 {
		o.measureRound()
	}
	fmt.Printf("Load after: %s", musttest.Get(os.ReadFile("/proc/loadavg"))(b))
	o.turns.print()
	fmt.Print(outsideNotes)
	o.memory.print()
	o.start.print()
	b.ReportMetric(0, "ns/op")
}

const outsideNotes = `
Only the row "as released" has nothing switched off. The other daemons have neither the wait of 150 ms for what belongs to a text nor the
rate limits of Telegram, and are built from the same source otherwise. All have the default of 8 agents at the same time.
CPU per turn is utime and stime of the daemon, or of the process that calls os/exec; of its children that it has waited for (cutime,
cstime), without ACP agents that stay; and of the Bot API server, which runs on the same processors.
`

// measureStarts measures starts with new states and with those that exist.
func (o *outside) measureStarts() {
	o.b.Helper()
	for range 20 {
		fresh := o.released
		musttest.Do(o.b, os.RemoveAll(fresh.stateDir()))
		o.start.add("new state", fresh.measureStart())
		o.start.add("10 chats", o.states[10].measureStart())
		o.start.add("100,000 chats", o.states[100_000].measureStart())
	}
}

// measureStart starts and ends a daemon, and returns the milliseconds that the start took.
func (bot *outsideBot) measureStart() float64 {
	bot.b.Helper()
	took := bot.start()
	musttest.Do(bot.b, bot.daemon.End())
	return took.Seconds() * 1e3
}

// startAll starts all daemons, and has all chats that are going to write known.
func (o *outside) startAll() {
	o.b.Helper()
	bots := append(slices.Collect(maps.Values(o.states)), slices.Collect(maps.Values(o.agents))...)
	for _, bot := range append(bots, o.released, o.direct) {
		bot.start()
	}
	o.fresh = o.readIdleMemory("Private_Dirty")
	o.released.ask(fast.Load{Chats: releasedChats, People: 1, Turns: releasedChats, Rest: releasedRest})
	for _, bot := range append(slices.Collect(maps.Values(o.states)), o.direct) {
		bot.ask(fast.Load{Chats: 32, People: 32, Turns: 64})
	}
	for n, bot := range o.agents {
		bot.ask(fast.Load{Chats: n, People: n, Turns: n})
	}
}

// readIdleMemory waits for idleTime and returns lines of smaps_rollup of the daemons with states,
// in MiB.
func (o *outside) readIdleMemory(names ...string) map[int][]float64 {
	o.b.Helper()
	time.Sleep(idleTime)
	all := map[int][]float64{}
	for n, bot := range o.states {
		for _, name := range names {
			all[n] = append(all[n], readMemory(o.b, fmt.Sprintf("/proc/%d/smaps_rollup", bot.daemon.PID()), name))
		}
	}
	return all
}

// releasedChats take turns, and rest in between, because the released daemon sends no more than a
// message a second to a chat, and 28 a second in all.
const releasedChats, releasedRest = 30, 40 * time.Millisecond

// measureRound measures everything once.
func (o *outside) measureRound() {
	o.b.Helper()
	idle := o.readIdleMemory("Private_Dirty", "Rss")
	measureBare(o.b, o.turns, "bare `sh -c`, alone", 400, 1, "/bin/sh", "-c", trivialAgent)
	measureBare(o.b, o.turns, "bare script, alone", 400, 1, o.script)
	measureBare(o.b, o.turns, "bare `sh -c` with the script's name, alone", 400, 1, "/bin/sh", "-c", o.script)
	measureBare(o.b, o.turns, "bare `sh -c`, 32 at a time", 1600, 32, "/bin/sh", "-c", trivialAgent)
	measureBare(o.b, o.turns, "bare script, 32 at a time", 1600, 32, o.script)
	measureBare(o.b, o.turns, "bare `sh -c` with the script's name, 32 at a time", 1600, 32, "/bin/sh", "-c", o.script)
	o.released.measure(o.turns, "nanobot as released, alone, with the wait of 150 ms", fast.Load{
		Chats: releasedChats, People: 1, Turns: releasedChats, Rest: releasedRest,
	})
	for _, n := range outsideStates {
		row := fmt.Sprintf("%d chats in the state", n)
		rss := o.states[n].measureBoth(o.turns, "nanobot, "+row)
		o.memory.add(row, o.fresh[n][0], idle[n][0], idle[n][1], rss)
	}
	o.direct.measureBoth(o.turns, "nanobot, 10 chats in the state, script")
	for _, n := range outsideAgents {
		o.agents[n].measure(o.turns, fmt.Sprintf("nanobot, ACP, %d chats write", n), fast.Load{Chats: n, People: n, Turns: max(800, 8*n)})
	}
}

// measureBoth measures one chat alone, and 32 chats. It returns the memory of the latter.
func (bot *outsideBot) measureBoth(g *grid, row string) (rss float64) {
	bot.b.Helper()
	bot.measure(g, row+", alone", fast.Load{Chats: 1, People: 1, Turns: 400})
	return bot.measure(g, row+", 32 chats write", fast.Load{Chats: 32, People: 32, Turns: 1600})
}
