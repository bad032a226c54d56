// The messages of a chat: the log loads and sorts them, and follows the newest.
import { $, h, day } from './dom.js';
import { history } from './api.js';
import { isClosed, messageView, result } from './message.js';

// most is how many messages the document has at any time. Those at the far end are removed, and
// loaded again when the person scrolls there.
const most = 400;

// messageLog calls choose(message, button, row) when a button is pressed, onShow(message) for each
// message shown, onLoad() when a request has ended, and onGone(chat) if the chat was deleted.
/** @type {MakeLog} */
export function messageLog(choose, onShow, onLoad, onGone, onError) {
	let chat = '', loading = 0, atEnd = true, top = 0;
	let newer = false; // newer messages are not shown
	/** @type {Map<string, HTMLElement>} */
	const shown = new Map(); // message id → its element
	/** @type {Set<string>} */
	const streamed = new Set(); // ids of messages that came during a request, whose answer may be older
	const scroll = $('scroll');

	// insert sorts an element by its sequence number; those without are last.
	function insert(e) {
		const seq = (x) => x.message?.seq ?? Infinity;
		let next = null;
		for (let x = $('log').lastElementChild; x && seq(x) > seq(e); x = x.previousElementSibling) next = x;
		$('log').insertBefore(e, next);
		drawWelcome();
	}

	// drawDay puts the day above the first message of it.
	function drawDay(e) {
		if (!e?.message) return;
		const before = e.previousElementSibling?.message;
		e.querySelector('.day')?.remove();
		if (!before || day(before.time) !== day(e.message.time)) e.prepend(h('p.day', day(e.message.time)));
	}

	// add shows a message, or another state of it.
	/** @param {Message} m */
	function add(m) {
		const old = shown.get(m.id);
		if (old && (m.removed ? old.message.removed : m.text === old.message.text && (isClosed(old.message) || !isClosed(m)))) return; // nothing else changes
		const e = messageView(m, choose);
		shown.set(m.id, e);
		if (old) old.replaceWith(e);
		else insert(e);
		onShow(m);
		drawDay(e);
		drawDay(e.nextElementSibling);
	}

	const addAll = (page) => page.messages.forEach((m) => (shown.has(m.id) && streamed.has(m.id)) || add(m));

	const stored = () => [...$('log').children].filter((e) => e.message);

	// show adds a message that has just come, unless it belongs to a part that is not shown.
	function show(m) {
		const all = stored(), seq = (e) => e?.message.seq;
		if (loading) streamed.add(m.id);
		if (!shown.has(m.id) && (newer && m.seq > seq(all.at(-1)) || !$('older').hidden && m.seq < seq(all[0]))) return;
		steady(() => {
			add(m);
			trim(atEnd);
		});
	}

	// trim removes messages from the beginning or the end.
	function trim(first) {
		for (let n = $('log').childElementCount - most; n > 0; n--) {
			const all = stored(), e = first ? all[0] : all.at(-1);
			if (!e) return;
			shown.delete(e.message.id);
			const next = e.nextElementSibling;
			e.remove();
			drawDay(next);
			if (first) $('older').hidden = false;
			else newer = true;
		}
	}

	// steady changes messages without moving those that the person sees.
	function steady(change) {
		const edge = scroll.getBoundingClientRect().top;
		const card = !atEnd && [...shown.values()].map((e) => e.querySelector('.card')).filter((c) => c.getBoundingClientRect().bottom > edge)
			.sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)[0];
		const y = card && card.getBoundingClientRect().top;
		change();
		if (card?.isConnected) scroll.scrollTop += card.getBoundingClientRect().top - y;
		top = scroll.scrollTop;
		if (atEnd) toEnd();
	}

	function drawWelcome() {
		$('hello').hidden = loading > 0 || $('log').childElementCount > 0 || !$('live').hidden || !$('deleted').hidden;
	}

	function clear() {
		for (const e of shown.values()) e.remove();
		shown.clear();
		newer = false;
	}

	// fetched calls use with a page of messages.
	async function fetched(where, use) {
		const mine = chat;
		let failed = false;
		loading++;
		try {
			const page = await history(mine, where);
			if (mine !== chat) return;
			follow(); // the event of a scroll may arrive later than the messages
			if (where) atEnd = false;
			steady(() => use(page));
		} catch (e) {
			failed = true;
			if (e.status === 410) onGone(mine);
			else onError(e);
		} finally {
			if (!--loading) streamed.clear();
			onLoad();
			failed || follow(); // it would repeat the request at once
		}
	}

	// load fetches the newest messages, or those before a number.
	const load = (before = 0) => fetched(before ? '&before=' + before : '', (page) => {
		if (newer && !before) return; // the person is reading older ones
		// If no message is known, there is a gap before them.
		if (!before && page.more && !page.messages.some((m) => shown.has(m.id))) clear();
		const all = before || !shown.size;
		addAll(page);
		if (all) $('older').hidden = !page.more;
		trim(!before);
	});

	// loadNewer fetches the messages after a number.
	const loadNewer = (after) => fetched('&after=' + after, (page) => {
		newer = page.more;
		addAll(page);
		trim(true);
	});

	const older = () => loading || $('older').hidden || load(stored()[0]?.message.seq);
	const later = () => loading || !newer || loadNewer(stored().at(-1)?.message.seq || 0);

	// find shows the message with a number, and those around it.
	async function find(seq) {
		const mine = chat, there = () => stored().find((e) => e.message.seq === seq);
		if (!there()) {
			clear();
			newer = true;
			await load(seq + 1);
			if (mine === chat) await loadNewer(seq);
		}
		atEnd = false;
		const e = there();
		scroll.querySelector('.hit')?.classList.remove('hit');
		e?.scrollIntoView({ block: 'center' });
		e?.classList.add('hit');
		top = scroll.scrollTop;
		follow();
	}

	function toEnd() {
		if (newer) {
			clear();
			load();
		}
		atEnd = $('latest').hidden = true;
		scroll.scrollTop = scroll.scrollHeight;
		top = scroll.scrollTop;
	}

	// Only an upward scroll ends following: when the content grows, a scroll event may arrive late.
	function follow() {
		const below = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight;
		if (below < 60 && !newer) atEnd = true;
		else if (scroll.scrollTop < top) atEnd = false;
		top = scroll.scrollTop;
		$('latest').hidden = atEnd;
		if (atEnd) return;
		if (top < 150) older();
		else if (below < 150) later();
	}

	scroll.onscroll = follow;
	const grown = new ResizeObserver(() => atEnd && toEnd());
	grown.observe(scroll);
	grown.observe(scroll.firstElementChild);
	$('older').onclick = () => older();

	return {
		show,
		insert,
		load,
		toEnd,
		drawWelcome,
		// open shows a chat: its newest messages, or the one with a number.
		open(id, seq) {
			chat = id;
			clear();
			$('log').replaceChildren();
			$('older').hidden = true;
			if (!id) return;
			if (seq) find(seq);
			else load();
		},
		find,
		// missed removes all messages, because some of them may have changed.
		missed() {
			clear();
			$('older').hidden = false;
		},
		// message returns a message that is shown.
		message: (id) => shown.get(id)?.message,
		// close shows the result of a question instead of its buttons.
		close(id, how) {
			const e = shown.get(id);
			if (!e) return;
			e.message = { ...e.message, ...how };
			e.querySelector('.choices')?.replaceWith(result(e.message));
		},
	};
}
