// Two plots over time: how many turns run and wait, and how long they took.
import { svg, at, clock, duration } from './dom.js';

const height = 112, left = 48, floor = 92, top = 8;

// startPlot draws the axes and returns the scale.
function startPlot(box, [from, to], label) {
	const width = Math.max(box.clientWidth, 200);
	const root = svg('svg', { class: 'plot', viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label });
	const x = (t) => left + ((t - from) / (to - from)) * (width - left);
	const write = (x, y, anchor, text) => root.append(svg('text', { x, y, 'text-anchor': anchor }, text));
	write(left, height - 4, 'start', clock(from));
	write(width, height - 4, 'end', clock(to));
	box.replaceChildren(root);
	const rule = (y, text) => {
		root.append(svg('line', { x1: left, x2: width, y1: y, y2: y }));
		write(left - 8, y + 4, 'end', text);
	};
	return { root, x, rule };
}

// span is from the oldest turn to now: five minutes to a day.
export function span(turns) {
	const now = Date.now();
	return [Math.max(now - 864e5, Math.min(now - 3e5, ...turns.map((t) => at(t.received)))), now];
}

const slices = 60;

// peaks returns the most overlapping spans in each slice.
function peaks(spans, [from, to]) {
	const changes = spans.flatMap(([a, b]) => [[a, 1], [b, -1]]).sort((x, y) => x[0] - y[0] || x[1] - y[1]);
	const counts = [0];
	let n = 0;
	for (const [t, d] of [...changes, [to, 0]]) {
		while (counts.length < slices && from + (counts.length / slices) * (to - from) < t) counts.push(n);
		n += d;
		if (t <= to) counts.push(Math.max(counts.pop(), n));
	}
	return counts;
}

// plotQueue stacks the turns that wait for over 0.1 s on those that run.
/** @type {Plot} */
export function plotQueue(box, turns, within) {
	const running = peaks(turns.filter((t) => t.started).map((t) => [at(t.started), at(t.ended) || Infinity]), within);
	const waiting = peaks(turns.map((t) => [at(t.received), at(t.started) || at(t.ended) || Infinity]).filter(([a, b]) => b - a > 100), within);
	const peak = Math.max(...running.map((n, i) => n + waiting[i])), high = Math.max(2, peak);
	const { root, x, rule } = startPlot(box, within, `${running.at(-1)} running and ${waiting.at(-1)} waiting now, ${peak} at most`);
	const y = (n) => floor - (n / high) * (floor - top), step = (within[1] - within[0]) / slices;
	rule(floor, 0);
	rule(top, high);
	for (let i = 0; i < slices; i++) {
		const bar = (kind, low, n) => n && root.append(svg('rect', { class: kind, x: x(within[0] + i * step) + 0.5, y: y(low + n), width: x(step) - x(0) - 1, height: y(low) - y(low + n) }));
		bar('', 0, running[i]);
		bar('waits', running[i], waiting[i]);
	}
}

// plotDurations has a logarithmic scale.
/** @type {Plot} */
export function plotDurations(box, turns, within, good) {
	const ended = turns.filter((t) => t.started && at(t.ended) >= within[0]);
	const times = ended.map((t) => Math.max(1, at(t.ended) - at(t.started)));
	const { root, x, rule } = startPlot(box, within, `${times.length} turns ended, the longest took ${duration(Math.max(0, ...times))}`);
	const low = Math.floor(Math.log10(Math.min(100, ...times))), high = Math.ceil(Math.log10(Math.max(1e4, ...times)));
	const y = (ms) => floor - ((Math.log10(ms) - low) / (high - low)) * (floor - top);
	for (let p = low; p <= high; p++) rule(y(10 ** p), p < 3 ? 10 ** p + ' ms' : 10 ** (p - 3) + ' s');
	ended.forEach((t, i) => {
		const cx = x(at(t.ended)), cy = y(times[i]);
		root.append(good(t) ? svg('circle', { cx, cy, r: 3 }) : svg('path', { d: `M${cx - 3} ${cy - 3}l6 6m0-6l-6 6` }));
	});
}
