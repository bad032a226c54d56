package metrics

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// page is a page in the text format of Prometheus. The client library would be a tenth of the
// binary.
type page struct{ bytes.Buffer }

// family starts the samples of a metric.
func (p *page) family(name, kind, help string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// gauge writes a gauge with one sample.
func (p *page) gauge(name, help string, value float64) {
	p.family(name, "gauge", help)
	p.sample(name, value)
}

// counter writes a counter with one sample.
func (p *page) counter(name, help string, value float64) {
	p.family(name, "counter", help)
	p.sample(name, value)
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// sample writes a value with labels, given as pairs of name and value.
func (p *page) sample(name string, value float64, labels ...string) {
	var all []string
	for i := 0; i < len(labels); i += 2 {
		all = append(all, labels[i]+`="`+escape.Replace(labels[i+1])+`"`)
	}
	if len(all) > 0 {
		name += "{" + strings.Join(all, ",") + "}"
	}
	p.WriteString(name + " " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// bounds are the upper bounds of a histogram's buckets, in seconds; the last bucket has none.
var bounds = [...]float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600}

// histogram counts durations.
type histogram struct {
	counts [len(bounds) + 1]int
	sum    float64
}

func (h *histogram) add(seconds float64) {
	i := 0
	for i < len(bounds) && seconds > bounds[i] {
		i++
	}
	h.counts[i]++
	h.sum += seconds
}

// write writes the cumulative buckets. labels are pairs as in sample.
func (h *histogram) write(p *page, name string, labels ...string) {
	total := 0
	for i, n := range h.counts {
		total += n
		end := "+Inf"
		if i < len(bounds) {
			end = strconv.FormatFloat(bounds[i], 'g', -1, 64)
		}
		p.sample(name+"_bucket", float64(total), append([]string{"le", end}, labels...)...)
	}
	p.sample(name+"_sum", h.sum, labels...)
	p.sample(name+"_count", float64(total), labels...)
}
