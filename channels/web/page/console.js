// The operator's view: how all is, and every turn as it happens.
import { $, h, fill, put, at, duration, moment } from './dom.js';
import { get } from './api.js';
import { depth, span, took } from './plot.js';
import { turnView } from './turn.js';

// outcomes are what can become of a turn, or of a send: its name, and whether that is good.
const outcomes = {
	pending: ['Waiting', 'warn'], running: ['Running', 'good'], done: ['Done', 'good'], failed: ['Failed', 'bad'], timeout: ['Timed out', 'bad'], stopped: ['Stopped', ''],
	interrupted: ['Interrupted', 'bad'], dead: ['Dropped', ''], unknown: ['Unknown', 'warn'],
};

// outcome is the state of a turn that is not done, and the status of one that is.
export const outcome = (t) => (t.state === 'done' ? t.status || 'done' : t.state);
export const badge = (state) => h('span', { class: 'badge ' + outcomes[state][1] }, outcomes[state][0]);

// page is how many turns are fetched at once, kept how many are remembered while new ones come.
const page = 100, kept = 300;

export function consoleView(health, refused) {
	let turns = [], listed = [], most = kept, timer = 0, lost = [];
	const rows = new Map(), chats = new Set();
	const detail = turnView();
	const wanted = (t) => [t.chat, ''].includes($('by-chat').value) && [outcome(t), ''].includes($('by-outcome').value);

	function take(some) {
		const merged = (list, n) => [...new Map([...list, ...some].map((t) => [t.id, t])).values()].sort((a, b) => b.id - a.id).slice(0, n);
		turns = merged(turns, kept);
		listed = merged(listed, most).filter(wanted);
		for (const { chat } of some) if (!chats.has(chat) && chats.add(chat)) $('by-chat').append(h('option', { value: chat }, chat));
		timer ||= setTimeout(draw, 200);
	}

	// load fetches the newest turns, or those before the oldest that is listed, and how all is.
	async function load(before = '') {
		try {
			const some = await get('api/turns?' + new URLSearchParams({ limit: page, before, chat: $('by-chat').value, outcome: $('by-outcome').value }));
			if (before) most += some.length;
			$('more').hidden = some.length < page;
			take(some);
			if (!before) await look();
		} catch (e) {
			refused(e);
		}
	}

	async function look() {
		[health, lost] = await Promise.all([get('api/health'), get('api/undelivered')]);
		draw();
	}

	function drawHealth() {
		const failed = turns.filter((t) => Date.now() - at(t.received) < 36e5 && outcomes[outcome(t)][1] === 'bad').length;
		const tiles = [['Running', health.running], ['Waiting', health.waiting], ['Failed, last hour', failed], ['Undelivered', lost.length]];
		put($('tiles'), tiles, () => tiles.map(([k, n], i) => h('div', { class: n > 0 && i > 1 && 'woe' }, h('dt', k), h('dd', n))));
		const parts = [...Object.entries(health.channels), ['store', { ok: !health.store, error: health.store }]];
		put($('channels'), parts, () => parts.map(([name, c]) => h('li', { class: c.ok ? 'badge good' : 'badge bad' }, h('b', name),
			c.ok ? ' works' : ` is down: ${c.error}${c.since ? ', since ' + moment(c.since) : ''}`)));
		$('undelivered').hidden = !lost.length;
		put($('undelivered').lastChild, lost, () => lost.map((p) => h('li', badge(p.state), p.turn ? h('a', { href: '#/console/' + p.turn }, p.text || 'Files') : p.text || 'Files',
			h('small', `${p.chat} · ${p.tries} ${p.tries === 1 ? 'try' : 'tries'}${p.error ? ' · ' + p.error : ''}`))));
	}

	function row(t) {
		let e = rows.get(t.id);
		if (!e) {
			e = h('tr', h('td', h('a', { href: '#/console/' + t.id }, t.text || 'Files')), h('td', t.chat), h('td'), h('td', moment(t.received)), h('td'));
			rows.set(t.id, e);
		}
		put(e.children[2], outcome(t), () => [badge(outcome(t))]);
		e.lastChild.textContent = t.started ? duration((at(t.ended) || Date.now()) - at(t.started)) : '';
		e.className = String(t.id) === detail.id() ? 'open' : '';
		return e;
	}

	function draw() {
		clearTimeout(timer);
		timer = 0;
		if ($('console').hidden) return;
		fill($('turns'), listed.map(row));
		for (const id of rows.keys()) if (!listed.some((t) => t.id === id)) rows.delete(id);
		$('no-turns').hidden = listed.length > 0;
		drawHealth();
		depth($('depth'), turns, span(turns));
		took($('took'), turns, span(turns), (t) => outcome(t) === 'done');
	}

	setInterval(() => {
		if ($('console').hidden || document.hidden) return;
		draw();
		detail.poll();
	}, 1000);
	setInterval(() => $('console').hidden || document.hidden || look().catch(() => {}), 5000);
	$('by-outcome').append(...Object.entries(outcomes).slice(0, -1).map(([k, [v]]) => h('option', { value: k }, v)));
	$('by-chat').onchange = $('by-outcome').onchange = () => {
		listed = [];
		load();
	};
	$('more').onclick = () => load(listed.at(-1).id);
	new ResizeObserver(draw).observe($('plots'));

	return {
		open(id) {
			const row = !id && rows.get(Number(detail.id()));
			detail.open(id);
			load();
			row && row.querySelector('a').focus();
		},
		connected: () => load(),
		turn(t) {
			take([t]);
			detail.changed(t.id);
		},
	};
}
