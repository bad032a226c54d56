// The details of one turn.
import { $, h, update, at, button, bytes, icon, duration, english, moment, announce } from './dom.js';
import { get, post } from './api.js';
import { badge, chatName, outcome } from './outcome.js';

const finished = (t) => t.state !== 'running' && t.state !== 'pending';

/** @param {Turn} t */
function endText(t) {
	if (t.status === 'timeout') return 'Killed at its time limit';
	if (t.state === 'interrupted') return 'Interrupted by a restart';
	if (t.state === 'dead') return 'Dropped before it ran';
	return (t.status === 'stopped' ? 'Stopped, ' : 'Ended, ') + (t.signal ? 'by ' + t.signal : 'exit code ' + (t.exit_code || 0));
}

const sends = { sent: 'Sent', pending: 'Waiting to be sent', sending: 'Sending', failed: 'Not sent', unknown: 'Maybe sent' };

// timeline lists the events of a turn: [time, kind, words, text].
/** @param {Details} t */
function timeline(t) {
	const all = [[t.received, 'edge', 'Queued']];
	if (t.started) all.push([t.started, 'edge', t.attempt > 1 ? `Running, attempt ${t.attempt}` : 'Running']);
	for (const f of t.frames) if (f.kind !== 'log') all.push([f.time, f.kind, f.kind[0].toUpperCase() + f.kind.slice(1), f.text]);
	if (t.elsewhere) all.push([t.started, 'edge', `Its steps are on ${t.member} until it ends`]);
	for (const s of t.parts) {
		const words = sends[s.state] + (s.tries > 1 ? `, ${s.tries} tries` : '') + (s.error && s.state !== 'sent' ? ': ' + s.error : '');
		all.push([s.queued, s.state, words, [s.text, ...(s.media || [])].filter(Boolean).join(' · ')]);
	}
	if (t.ended) all.push([t.ended, outcome(t) === 'done' ? 'edge' : 'failed', endText(t)]);
	return all.sort((a, b) => at(a[0]) - at(b[0]));
}

/** @param {Turn} t */
const facts = (t) => [
	['Chat', chatName(t)], ['Chat ID', t.chat], ['Agent', t.agent], ['Member', t.member], [t.origin ? 'Origin' : 'From', t.origin || t.user.name || t.user.username || t.user.id], ['Received', moment(t.received, english)], ['Waited', t.started && duration(at(t.started) - at(t.received))],
	['Took', t.started && t.ended && duration(at(t.ended) - at(t.started))], ['CPU', t.cpu && duration(t.cpu * 1000)], ['Memory', t.memory && bytes(t.memory, english)],
].filter(([, v]) => v);

export function turnView() {
	const box = $('turn'), find = (q) => box.querySelector(q);
	let id = '', turn = null, loading = false;

	async function act(action) {
		try {
			await post(`api/turns/${id}/${action}`);
			announce(action === 'stop' ? 'Stopping' : 'Running again');
			await load();
		} catch (e) {
			find('.fate').textContent = 'That did not work: ' + e.message;
		}
	}

	function build() {
		box.replaceChildren(
			h('header', h('h2', `Turn ${id} `, h('span')), button('soft stop', () => act('stop'), { hidden: '' }, 'Stop'),
				button('soft retry', () => act('retry'), { hidden: '' }, 'Run again'),
				h('a.soft save', { hidden: '', href: `api/turns/${id}/cassette`, download: '' }, 'Save as test'), h('a.icon', { href: '#/console', 'aria-label': 'Close' }, icon('close'))),
			h('p.fate', { role: 'status' }), h('p.plain'), h('dl'), h('h3', 'Timeline'), h('ol.story'),
			h('h3.log', 'Log'), h('ol.lines'), h('h3.err', 'stderr'), h('pre', { tabindex: 0, 'aria-label': 'stderr' }));
	}

	function draw(t) {
		const done = finished(t), since = (time) => '+' + duration(at(time) - at(t.received));
		update(find('h2 span'), outcome(t), () => [badge(outcome(t))]);
		find('.stop').hidden = done;
		find('.retry').hidden = !done || !t.started;
		find('.save').hidden = !done || !t.cassette;
		find('.plain').textContent = t.text;
		update(find('dl'), facts(t), () => facts(t).map(([k, v]) => h('div', h('dt', k), h('dd', v))));
		const events = timeline(t), log = t.frames.filter((f) => f.kind === 'log');
		if (t.missed) log.unshift({ time: t.started, level: '', text: `${t.missed} earlier lines are missing` });
		update(find('.story'), events, () => events.map(([time, kind, words, text]) => h('li', { 'data-kind': kind },
			h('time', { title: moment(time, english) }, since(time)), ' ', h('b', words), text && h('p', text))));
		update(find('.lines'), log, () => log.map((f) => h('li', { 'data-level': f.level }, h('time', since(f.time)), h('b', f.level), h('span', f.text))));
		find('.log').hidden = !log.length;
		update(find('pre'), t.stderr, () => [t.stderr]);
		find('.err').hidden = find('pre').hidden = !t.stderr;
	}

	async function load() {
		if (!id) return;
		const mine = id;
		loading = true;
		try {
			const t = await get('api/turns/' + encodeURIComponent(id));
			if (mine !== id) return;
			if (!turn) find('.fate').textContent = '';
			draw((turn = t));
		} catch (e) {
			if (mine === id && !turn) find('.fate').textContent = e.message;
		} finally {
			loading = false;
		}
	}

	return {
		id: () => id,
		open(which) {
			const moved = id !== which;
			id = which;
			box.hidden = !id;
			document.body.classList.toggle('with-turn', Boolean(id));
			if (!id || !moved) return;
			turn = null;
			build();
			load();
			find('a.icon').focus({ preventScroll: true });
			box.scrollTop = 0;
		},
		changed: (which) => String(which) === id && load(),
		// poll updates a running turn between its events.
		poll: () => id && turn && !finished(turn) && !loading && load(),
	};
}
