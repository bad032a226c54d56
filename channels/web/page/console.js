// The operator's view: health, and turns as they change.
import { $, h, setChildren, update, at, duration, english, moment } from './dom.js';
import { get } from './api.js';
import { plotQueue, span, plotDurations } from './plot.js';
import { outcomes, outcome, badge, chatName } from './outcome.js';
import { turnView } from './turn.js';

// page is how many turns one request fetches and the plots show.
const page = 200;

export function consoleView(health, onError) {
	/** @type {Turn[]} */
	let turns = [], listed = [];
	let most = 1000, changes = null, requests = 0, stale = true, timer = 0, undelivered = [], schedules = [], usage = [];
	const rows = new Map();
	const names = new Map(); // chat → its title
	const detail = turnView();
	const matches = (t) => [t.chat, ''].includes($('by-chat').value) && [outcome(t), ''].includes($('by-outcome').value);

	function addTurns(some) {
		const merged = (list) => [...new Map([...list, ...some].map((t) => [t.id, t])).values()].sort((a, b) => b.id - a.id);
		const oldest = !$('more').hidden && listed.at(-1)?.id; // older ones are not loaded
		turns = merged(turns).slice(0, page);
		listed = merged(listed).filter((t) => matches(t) && !(t.id < oldest));
		if (listed.length > most) $('more').hidden = !(listed.length = most);
		for (const t of some) {
			if (!names.has(t.chat)) $('by-chat').append(h('option', { value: t.chat }, chatName(t)));
			names.set(t.chat, chatName(t));
		}
		timer ||= setTimeout(draw, 200);
	}

	// load fetches the listed turns, or older ones, and the health. Events that arrive meanwhile
	// are newer.
	async function load(older) {
		const mine = ++requests, last = older ? Infinity : listed.at(-1)?.id || Infinity;
		const filter = { chat: $('by-chat').value, outcome: $('by-outcome').value };
		const fetchTurns = (before, f) => get('api/turns?' + new URLSearchParams({ limit: page, before, ...f }));
		let all = older ? listed : [], some;
		changes = [];
		stale &&= Boolean(older);
		try {
			do all = all.concat(some = await fetchTurns(all.at(-1)?.id || '', filter));
			while (some.length === page && all.at(-1).id > last && all.length < most);
			const recent = older ? turns : filter.chat + filter.outcome ? await fetchTurns('') : [];
			if (mine !== requests) return;
			turns = listed = [];
			most = Math.max(most, all.length);
			$('more').hidden = some.length < page;
			addTurns([...all, ...recent]);
			addTurns(changes);
			if (older) return;
			detail.changed(detail.id());
			await loadHealth();
		} catch (e) {
			stale = true;
			onError(e);
		} finally {
			if (mine === requests) changes = null;
		}
	}

	async function loadHealth() {
		const by = $('usage-by').value, used = 'api/usage?' + new URLSearchParams({ by, since: $('usage-last').value });
		[health, undelivered, schedules, usage] = await Promise.all(
			[get('api/health'), get('api/undelivered'), get('api/schedules?occurrences=3'), get(used)]);
		draw();
	}

	function drawHealth() {
		const failed = turns.filter((t) => Date.now() - at(t.received) < 36e5 && outcomes[outcome(t)][1] === 'bad').length;
		const tiles = [['Running', health.running], ['Waiting', health.waiting], ['Failed, last hour', failed], ['Undelivered', undelivered.length]];
		update($('tiles'), tiles, () => tiles.map(([k, n], i) => h(n > 0 && i > 1 ? 'div.problem' : 'div', h('dt', k), h('dd', n))));
		const parts = [...Object.entries(health.channels), ['store', { ok: !health.store, error: health.store }]];
		update($('channels'), parts, () => parts.map(([name, c]) => h('li.badge ' + (c.ok ? 'good' : 'bad'), h('b', name),
			c.ok ? ' works' : ` is down: ${c.error}${c.since ? ', since ' + moment(c.since, english) : ''}`)));
		[$('undelivered').hidden, $('schedules').hidden] = [!undelivered.length, !schedules.length];
		update($('undelivered').lastChild, undelivered, () => undelivered.map((p) => h('li', badge(p.state), p.turn ? h('a', { href: '#/console/' + p.turn }, p.text || 'Files') : p.text || 'Files',
			h('small', `${names.get(p.chat) || p.chat} · ${p.tries} ${p.tries === 1 ? 'try' : 'tries'}${p.error ? ' · ' + p.error : ''}`))));
		update($('schedules').lastChild, schedules, () => schedules.map((s) => h('li', h('b', s.name), s.next ? ' next ' + moment(s.next, english) : ' not again', ...s.occurrences.map((o) => h('small', `${moment(o.due, english)} ${o.outcome}${o.reason ? ': ' + o.reason : ''}`)))));
		update($('usage').lastElementChild, usage, () => usage.length ? usage.map(usageRow) : [h('li', 'No turn has ended.')]);
	}

	// usageRow describes what one user, chat, agent, model or day has used.
	function usageRow(r) {
		const by = ['user', 'chat', 'agent', 'model', 'day'].find((k) => k in r), n = r.input_tokens + r.output_tokens;
		return h('li', h('b', names.get(r[by]) || r[by] || (by === 'user' ? 'nobody' : 'unknown')), [r.turns + (r.turns === 1 ? ' turn' : ' turns'), duration(r.seconds * 1e3),
			n && `${n.toLocaleString(english)} tokens`, r.cost && '$' + r.cost.toFixed(2)].filter(Boolean).join(' · '));
	}

	function row(t) {
		let e = rows.get(t.id);
		if (!e) {
			e = h('tr', h('td', h('a', { href: '#/console/' + t.id }, t.text || 'Files')), h('td', { title: t.chat }, chatName(t) + (t.origin ? ' · ' + t.origin : '')), h('td'), h('td', moment(t.received, english)), h('td'));
			rows.set(t.id, e);
		}
		update(e.children[2], outcome(t), () => [badge(outcome(t))]);
		e.lastChild.textContent = t.started ? duration((at(t.ended) || Date.now()) - at(t.started)) : '';
		e.className = String(t.id) === detail.id() ? 'open' : '';
		return e;
	}

	function draw() {
		clearTimeout(timer);
		timer = 0;
		if ($('console').hidden) return;
		setChildren($('turns'), listed.map(row));
		for (const [id, e] of rows) if (!e.isConnected) rows.delete(id);
		$('no-turns').hidden = listed.length > 0;
		drawHealth();
		plotQueue($('depth'), turns, span(turns));
		plotDurations($('took'), turns, span(turns), (t) => outcome(t) === 'done');
	}

	setInterval(() => {
		if ($('console').hidden || document.hidden) return;
		draw();
		detail.poll();
		if (stale && !changes) load();
	}, 1000);
	setInterval(() => $('console').hidden || document.hidden || loadHealth().catch(() => {}), 5000);
	$('by-outcome').append(...Object.entries(outcomes).slice(0, -1).map(([k, [v]]) => h('option', { value: k }, v)));
	$('by-chat').onchange = $('by-outcome').onchange = () => {
		listed = [];
		load();
	};
	$('usage-by').onchange = $('usage-last').onchange = () => loadHealth().catch(onError);
	$('more').onclick = () => load(true);
	new ResizeObserver(draw).observe($('plots'));

	return {
		open(id) {
			const row = !id && rows.get(Number(detail.id()));
			detail.open(id);
			if (stale) load();
			row && row.querySelector('a').focus();
		},
		// reload fetches missed turns, at most once a second.
		reload: () => (stale = true),
		turn(t) {
			changes?.push(t);
			addTurns([t]);
			detail.changed(t.id);
		},
	};
}
