// The operator's view: how all is, and every turn as it happens.
import { $, h, fill, put, at, duration, moment } from './dom.js';
import { get } from './api.js';
import { depth, span, took } from './plot.js';
import { turnView } from './turn.js';

// outcomes are what can become of a turn or a send, and whether that is good.
const outcomes = {
	pending: ['Waiting', 'warn'], running: ['Running', 'good'], done: ['Done', 'good'], failed: ['Failed', 'bad'], timeout: ['Timed out', 'bad'], stopped: ['Stopped', ''],
	interrupted: ['Interrupted', 'bad'], dead: ['Dropped', ''], unknown: ['Unknown', 'warn'],
};

// outcome is the status of a turn that is done, else its state.
export const outcome = (t) => (t.state === 'done' ? t.status || 'done' : t.state);
export const badge = (state) => h('span.badge ' + outcomes[state][1], outcomes[state][0]);

// page is how many turns are fetched at once, and how many the plots show.
const page = 200;

export function consoleView(health, refused) {
	let turns = [], listed = [], most = 1000, news = null, asked = 0, stale = true, timer = 0, lost = [];
	const rows = new Map(), chats = new Set();
	const detail = turnView();
	const wanted = (t) => [t.chat, ''].includes($('by-chat').value) && [outcome(t), ''].includes($('by-outcome').value);

	function take(some) {
		const merged = (list) => [...new Map([...list, ...some].map((t) => [t.id, t])).values()].sort((a, b) => b.id - a.id);
		const oldest = !$('more').hidden && listed.at(-1)?.id; // what is older comes when it is asked for
		turns = merged(turns).slice(0, page);
		listed = merged(listed).filter((t) => wanted(t) && !(t.id < oldest));
		if (listed.length > most) $('more').hidden = !(listed.length = most);
		for (const { chat } of some) if (!chats.has(chat) && chats.add(chat)) $('by-chat').append(h('option', { value: chat }, chat));
		timer ||= setTimeout(draw, 200);
	}

	// load fetches the listed turns, or older ones, and the health. Events meanwhile are newer.
	async function load(older) {
		const mine = ++asked, last = older ? Infinity : listed.at(-1)?.id || Infinity;
		const filter = { chat: $('by-chat').value, outcome: $('by-outcome').value };
		const ask = (before, f) => get('api/turns?' + new URLSearchParams({ limit: page, before, ...f }));
		let all = older ? listed : [], some;
		news = [];
		stale &&= Boolean(older);
		try {
			do all = all.concat(some = await ask(all.at(-1)?.id || '', filter));
			while (some.length === page && all.at(-1).id > last && all.length < most);
			const recent = older ? turns : filter.chat + filter.outcome ? await ask('') : [];
			if (mine !== asked) return;
			turns = listed = [];
			most = Math.max(most, all.length);
			$('more').hidden = some.length < page;
			take([...all, ...recent]);
			take(news);
			if (older) return;
			detail.changed(detail.id());
			await look();
		} catch (e) {
			stale = true;
			refused(e);
		} finally {
			if (mine === asked) news = null;
		}
	}

	async function look() {
		[health, lost] = await Promise.all([get('api/health'), get('api/undelivered')]);
		draw();
	}

	function drawHealth() {
		const failed = turns.filter((t) => Date.now() - at(t.received) < 36e5 && outcomes[outcome(t)][1] === 'bad').length;
		const tiles = [['Running', health.running], ['Waiting', health.waiting], ['Failed, last hour', failed], ['Undelivered', lost.length]];
		put($('tiles'), tiles, () => tiles.map(([k, n], i) => h(n > 0 && i > 1 ? 'div.woe' : 'div', h('dt', k), h('dd', n))));
		const parts = [...Object.entries(health.channels), ['store', { ok: !health.store, error: health.store }]];
		put($('channels'), parts, () => parts.map(([name, c]) => h('li.badge ' + (c.ok ? 'good' : 'bad'), h('b', name),
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
		for (const [id, e] of rows) if (!e.isConnected) rows.delete(id);
		$('no-turns').hidden = listed.length > 0;
		drawHealth();
		depth($('depth'), turns, span(turns));
		took($('took'), turns, span(turns), (t) => outcome(t) === 'done');
	}

	setInterval(() => {
		if ($('console').hidden || document.hidden) return;
		draw();
		detail.poll();
		if (stale && !news) load();
	}, 1000);
	setInterval(() => $('console').hidden || document.hidden || look().catch(() => {}), 5000);
	$('by-outcome').append(...Object.entries(outcomes).slice(0, -1).map(([k, [v]]) => h('option', { value: k }, v)));
	$('by-chat').onchange = $('by-outcome').onchange = () => {
		listed = [];
		load();
	};
	$('more').onclick = () => load(true);
	new ResizeObserver(draw).observe($('plots'));

	return {
		open(id) {
			const row = !id && rows.get(Number(detail.id()));
			detail.open(id);
			if (stale) load();
			row && row.querySelector('a').focus();
		},
		// reload fetches what may have been missed, at most once a second.
		reload: () => (stale = true),
		turn(t) {
			news?.push(t);
			take([t]);
			detail.changed(t.id);
		},
	};
}
