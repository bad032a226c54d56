package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
)

// BenchmarkWebStreams has 200 browsers watch, each as an operator who is told of everything, while
// 100 turns a second are worked on by a trivial agent. It reports the daemon's memory and its share
// of a core, without its agents, and how many events a second reach the browsers together.
func BenchmarkWebStreams(b *testing.B) {
	const streams, perSecond, seconds = 200, 100, 20
	w := startBenchWeb(b)
	var events atomic.Int64
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	for range streams {
		resp := w.request(ctx, http.MethodGet, "/api/events", nil)
		all.Go(func() {
			defer resp.Body.Close()
			buf := make([]byte, 64<<10)
			for {
				n, err := resp.Body.Read(buf)
				events.Add(int64(bytes.Count(buf[:n], []byte("event: message\n"))))
				if err != nil {
					return
				}
			}
		})
	}
	for b.Loop() {
		events.Store(0)
		idle, cpu, began := w.memory(), w.cpu(), time.Now()
		tick := time.NewTicker(time.Second / perSecond)
		peak := 0.0
		for i := range perSecond * seconds {
			<-tick.C
			body, _ := json.Marshal(map[string]string{"text": "hello"})
			resp := w.request(ctx, http.MethodPost, fmt.Sprintf("/api/chats/web-%d/messages", i%perSecond), bytes.NewReader(body))
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
			if i%50 == 0 {
				peak = max(peak, w.memory())
			}
		}
		tick.Stop()
		want := int64(2 * perSecond * seconds * streams) // each question and its answer
		for deadline := time.Now().Add(time.Minute); events.Load() < want; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				b.Fatalf("of %d events %d came", want, events.Load())
			}
		}
		took := time.Since(began)
		b.ReportMetric(perSecond*seconds/took.Seconds(), "turns/s")
		b.ReportMetric(float64(want)/took.Seconds(), "events/s")
		b.ReportMetric((w.cpu()-cpu).Seconds()/took.Seconds()*100, "%core")
		b.ReportMetric(idle, "MiB-before")
		b.ReportMetric(max(peak, w.memory()), "MiB-peak")
	}
	cancel()
	all.Wait()
}

// benchWeb is the binary as it is released, with the chat page.
type benchWeb struct {
	b      *testing.B
	url    string
	pid    int
	client *http.Client
}

func startBenchWeb(b *testing.B) *benchWeb {
	b.Helper()
	dir := b.TempDir()
	listen := freeAddress(b)
	cfg := `{"terminal": {"protocol": "rich", "command": "read -r line; echo '{\"type\":\"message\",\"text\":\"**hi**\"}'"},
		"channels": {"web": {"enabled": true}}, "http": {"listen": "` + listen + `", "token": "` + webToken + `"}, "log": {"level": "warn"}}`
	musttest.Do(b, os.WriteFile(filepath.Join(dir, "config.json"), []byte(cfg), 0o600))
	cmd := exec.Command(buildBinary(b), "serve", "--config", filepath.Join(dir, "config.json"))
	cmd.Dir, cmd.Env, cmd.Stderr = dir, environWithoutTestSettings(), os.Stderr
	w := &benchWeb{b, "http://" + listen, killtest.Start(b, cmd).PID(), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if resp, err := w.client.Get(w.url + "/healthz"); err == nil {
			resp.Body.Close()
			return w
		}
		if time.Now().After(deadline) {
			b.Fatal("it does not start")
		}
	}
}

func (w *benchWeb) request(ctx context.Context, method, path string, body io.Reader) *http.Response {
	w.b.Helper()
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, body)
	if err != nil {
		w.b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+webToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.client.Do(req)
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
		w.b.Fatalf("%s %s: %v, %v", method, path, resp, err)
	}
	return resp
}

// memory is what the daemon has in memory, in MiB.
func (w *benchWeb) memory() float64 { return memoryOf(w.b, w.pid, "VmRSS") }

// cpu is how long the daemon itself has run.
func (w *benchWeb) cpu() time.Duration {
	w.b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.pid))
	if err != nil {
		w.b.Fatal(err)
	}
	fields := strings.Fields(string(stat)[strings.LastIndexByte(string(stat), ')')+1:])
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // ticks of 1/100 s
}
