package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// plainProxy is nginx with nothing but "proxy_pass http://ADDRESS": it says its own host, and
// nothing of whom it speaks for. Headers of the client are handed on as they are. Older versions
// speak HTTP/1.0, newer ones 1.1.
func plainProxy(t *testing.T, to, version string) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "%s %s HTTP/%s\r\nHost: %s\r\nConnection: close\r\n", r.Method, r.URL.RequestURI(), version, to)
		if r.ContentLength >= 0 && r.Method != http.MethodGet {
			fmt.Fprintf(conn, "Content-Length: %d\r\n", r.ContentLength)
		}
		h := r.Header.Clone()
		h.Del("Connection")
		_ = h.Write(conn)
		_, _ = io.WriteString(conn, "\r\n")
		_, _ = io.Copy(conn, r.Body)
		resp, err := http.ReadResponse(bufio.NewReader(conn), r)
		if err != nil {
			t.Error(err)
			return
		}
		defer resp.Body.Close()
		for k, v := range resp.Header {
			w.Header()[k] = v
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestMetricsAreNotOpenBehindAPlainProxy(t *testing.T) {
	listen, scrape := freeAddress(t), freeAddress(t)
	b := startBot(t, `{"terminal": {"command": "echo hi"}, "channels": {"web": {"enabled": true}, "net": {"allowFrom": ["*"]}},
		"http": {"listen": "`+listen+`", "metricsListen": "`+scrape+`"}}`)
	b.awaitLog("ready")
	for _, version := range []string{"1.0", "1.1"} {
		proxy := plainProxy(t, listen, version)
		for name, h := range map[string]httpHeaders{
			"as it is": nil, "with a forged address": {"X-Forwarded-For": "127.0.0.1"}, "with the host of this machine": {"Host": "localhost"},
		} {
			if status, body := httpGet(t, proxy+"/metrics", h); status != http.StatusUnauthorized || strings.Contains(body, "nanobot_") {
				t.Errorf("HTTP/%s %s: %d %s", version, name, status, body)
			}
		}
		if status, _ := httpGet(t, proxy+"/healthz", nil); status != http.StatusOK {
			t.Errorf("the proxy is broken: %d", status)
		}
	}
	if status, body := httpGet(t, "http://"+scrape+"/metrics", nil); status != http.StatusOK || !strings.Contains(body, "nanobot_") {
		t.Errorf("Prometheus on this machine is answered %d %s", status, body)
	}
	for name, c := range map[string]struct {
		path string
		httpHeaders
		want int
	}{
		"handed on by a proxy":          {"/metrics", httpHeaders{"X-Forwarded-For": "192.0.2.7"}, http.StatusForbidden},
		"a page with a name of its own": {"/metrics", httpHeaders{"Host": "evil.example"}, http.StatusMisdirectedRequest},
		"the page":                      {"/", nil, http.StatusNotFound},
		"the API":                       {"/api/health", nil, http.StatusNotFound},
	} {
		if status, body := httpGet(t, "http://"+scrape+c.path, c.httpHeaders); status != c.want {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

func TestWrongSecretsOfANetworkAreSlowedDownAndLogged(t *testing.T) {
	t.Parallel()
	url, stop, logs := startWeb(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "right" {
			http.Error(w, "wrong secret", http.StatusUnauthorized)
		}
	})
	for i := range 25 {
		want := http.StatusUnauthorized
		if i >= 20 {
			want = http.StatusTooManyRequests
		}
		if status, body := httpRequest(t, "POST", url+"/in?guess"); status != want {
			t.Errorf("attempt %d is answered %d %s", i, status, body)
		}
	}
	if status, _ := httpRequest(t, "POST", url+"/in?right"); status != http.StatusOK {
		t.Errorf("the network itself is answered %d", status)
	}
	stop()
	lines := logs.FilterMessage("wrong token, link, cookie or webhook secret").All()
	if len(lines) != 2 || lines[0].ContextMap()["count"] != int64(1) || lines[1].ContextMap()["count"] != int64(24) || lines[1].ContextMap()["address"] != "127.0.0.1" {
		t.Errorf("logged %v", lines)
	}
}
