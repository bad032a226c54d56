package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"nanobot/channels/channelstest/fakenet"
)

// faultKinds are the kinds of --faults and of POST /_sim/faults.
const faultKinds = "429, 500, 502, cut, cut-before, cut-after, garbled, slow"

// One call in faultEvery meets a fault, and slowBy is the delay of a slow response.
const (
	faultEvery = 5
	slowBy     = 2 * time.Second
)

// faultsOf returns the faults of a network by their kinds.
func faultsOf(n network) map[string]fakenet.Fault {
	faults := n.faults()
	faults["502"] = fakenet.BadGateway()
	faults["cut-before"], faults["cut-after"] = fakenet.Fault{CutBefore: true}, fakenet.Fault{CutAfter: true}
	faults["cut"] = faults["cut-after"] // setFaults has both
	faults["slow"] = fakenet.Fault{ResponseDelay: slowBy}
	return faults
}

func unknownFault(kind string) error {
	return fmt.Errorf("there is no fault %q; there are %s", kind, faultKinds)
}

// setFaults lets calls fail as the options say. The nth call of a method meets the same fault
// whenever the options are the same, whatever the bot calls in between.
func setFaults(n network, o options) error {
	if o.faults == "" {
		return nil
	}
	known := faultsOf(n)
	var faults []fakenet.Fault
	for kind := range strings.SplitSeq(o.faults, ",") {
		kind = strings.TrimSpace(kind)
		f, ok := known[kind]
		if !ok {
			return unknownFault(kind)
		}
		if faults = append(faults, f); kind == "cut" {
			faults = append(faults, known["cut-before"])
		}
	}
	var mu sync.Mutex
	random := map[string]*rand.Rand{} // by method
	n.SetFaultByName(func(method string) fakenet.Fault {
		if !n.sends(method) {
			return fakenet.Fault{}
		}
		mu.Lock()
		defer mu.Unlock()
		if random[method] == nil {
			h := fnv.New64a()
			_, _ = h.Write([]byte(method))
			random[method] = rand.New(rand.NewPCG(o.seed, h.Sum64()))
		}
		if random[method].IntN(faultEvery) != 0 {
			return fakenet.Fault{}
		}
		return faults[random[method].IntN(len(faults))]
	})
	return nil
}
