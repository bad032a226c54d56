package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"nanobot/channels/channelstest/fakenet"
	"nanobot/internal/httpd"
)

// maxWait is the longest that GET /_sim/sent waits, and maxBody the largest body of a POST.
const (
	maxWait = time.Minute
	maxBody = 64 << 20
)

// control serves what tests ask and what people do.
func control(n network) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_sim/sent", respond(func(r *http.Request) (any, error) {
		after, wait, err := parseSentQuery(r)
		if err != nil {
			return nil, err
		}
		return n.sent(after, wait), nil
	}))
	mux.HandleFunc("GET /_sim/violations", respond(func(*http.Request) (any, error) {
		return append([]string{}, n.Violations()...), nil
	}))
	for _, kind := range []string{"messages", "presses", "commands"} {
		mux.HandleFunc("POST /_sim/"+kind, respond(func(r *http.Request) (any, error) {
			var a action
			if err := decode(r.Body, &a); err != nil {
				return nil, err
			}
			if k, err := a.kind(); err != nil {
				return nil, err
			} else if k != kind {
				return nil, fmt.Errorf("this belongs to /_sim/%s", k)
			}
			return act(n, a)
		}))
	}
	mux.HandleFunc("POST /_sim/faults", respond(func(r *http.Request) (any, error) { return failNext(n, r.Body) }))
	mux.HandleFunc("/_sim/", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusNotFound, refusal(fmt.Errorf("there is no %s %s", r.Method, r.URL.Path)))
	})
	return mux
}

// parseSentQuery returns the parameters of GET /_sim/sent.
func parseSentQuery(r *http.Request) (after int, wait time.Duration, err error) {
	if v := r.FormValue("after"); v != "" {
		if after, err = strconv.Atoi(v); err != nil || after < 0 {
			return 0, 0, fmt.Errorf("after=%s is not the number n of a call", v)
		}
	}
	if v := r.FormValue("wait"); v != "" {
		if wait, err = time.ParseDuration(v); err != nil || wait < 0 || wait > maxWait {
			return 0, 0, fmt.Errorf("wait=%s is not a time up to %s, such as 5s", v, maxWait)
		}
	}
	return after, wait, nil
}

// failNext queues faults for the next calls of a method, or of any method.
func failNext(n network, body io.Reader) (any, error) {
	var in struct {
		Method string   `json:"method"`
		Faults []string `json:"faults"`
	}
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	known := faultsOf(n)
	var faults []fakenet.Fault
	for _, kind := range in.Faults {
		f, ok := known[kind]
		if !ok {
			return nil, unknownFault(kind)
		}
		faults = append(faults, f)
	}
	n.FailNext(in.Method, faults...)
	return map[string]any{"after": n.Ended()}, nil
}

// decode reads one JSON value without unknown fields.
func decode(r io.Reader, v any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("read the JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("read the JSON: something follows the value")
	}
	return nil
}

// respond returns the handler of a request: its result, or its error with 400.
func respond(answer func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		v, err := answer(r)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, refusal(err))
			return
		}
		writeJSON(w, http.StatusOK, v)
	}
}

func refusal(err error) any { return map[string]string{"error": err.Error()} }

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// guard refuses what a page of another site asks, also one whose name resolves to this machine (DNS
// rebinding).
func guard(listen string, next http.Handler) http.Handler {
	ours, _, _ := net.SplitHostPort(listen)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.Host)
		origin := r.Header.Get("Origin")
		switch {
		case !httpd.IsLocal(r) && (host == "" || host != ours):
			writeJSON(w, http.StatusForbidden, refusal(fmt.Errorf("the simulator is not known as %q; use its address", r.Host)))
		case origin != "" && origin != "http://"+r.Host:
			writeJSON(w, http.StatusForbidden, refusal(fmt.Errorf("a page of %q may not use the simulator", origin)))
		default:
			next.ServeHTTP(w, r)
		}
	})
}
