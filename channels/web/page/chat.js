// The conversation: stored and unsent messages, and the list of chats.
import { $, h, button, setChildren, update, announce, unseen, at, day, moment } from './dom.js';
import { get, history, press } from './api.js';
import { body, buttons, isClosed, isQuestion, messageView, result, sending } from './message.js';
import { composer } from './composer.js';
import { outbox, random } from './outbox.js';
import { text } from './text.js';

// chatView calls onOpen(chat) when it shows a chat, and onError(error).
export function chatView(onOpen, onError) {
	let current = '', chats = [], loading = 0, loadingChats = null, atEnd = true;
	const shown = new Map(); // message id → its element
	const unsent = new Map(); // id of an item in the outbox → its element
	const running = new Map(); // chat → its progress
	const drafts = new Map(); // id → the beginning of an answer
	const typing = new Map(); // chat → until when
	const unread = new Set();
	const questions = new Map(); // id of a message with an open question → its chat
	const links = new Map(); // chat → its entry in the list
	const scroll = $('scroll');

	const input = composer((typed, files) => {
		out.add(current, typed, files);
		toEnd();
	}, () => {
		const e = [...$('log').querySelectorAll('.mine')].at(-1);
		return (e?.message || e?.item)?.text || '';
	});

	const out = outbox(drawUnsent);

	function drawUnsent(item) {
		let e = unsent.get(item.id);
		// The element stays until the message comes back from the server.
		if (item.state === 'gone' && (!item.message || shown.has(item.message))) return dropUnsent(item.id);
		if (!e && item.chat === current) {
			e = sending(item);
			unsent.set(item.id, e);
			insert(e);
		}
		if (!e) return;
		e.item = item;
		const stuck = item.state === 'waiting' || item.state === 'failed';
		const words = { waiting: text('pageRetries', { reason: item.why }), failed: text('pageNotSent', { reason: item.why }), gone: text('pageSent') }[item.state] || text('pageSending') + ' ' + item.why;
		e.classList.toggle('stuck', stuck);
		update(e.lastChild, words, () => [words, stuck && button('soft', () => out.retry(item), text('pageTryAgain')), stuck && button('soft', () => out.drop(item.id), text('pageDiscard'))]);
	}

	function dropUnsent(id) {
		unsent.get(id)?.remove();
		unsent.delete(id);
		drawWelcome();
	}

	async function choose(m, { data, stays }, row) {
		for (const b of row.children) b.disabled = !stays;
		focus();
		try {
			await press(m.chat, m.id, data);
		} catch (e) {
			onError(e);
			for (const b of row.children) b.disabled = false;
		}
	}

	// stoppable returns the progress or the beginning of an answer that has the Stop button of a chat's turn.
	const stoppable = (chat) => [running.get(chat), ...drafts.values()].find((p) => p?.chat === chat && p.buttons.length);

	// stop ends the turn that runs in this chat.
	function stop() {
		const p = stoppable(current), b = p?.buttons.find((x) => x.role === 'stop');
		if (b) press(current, p.id, b.data).catch(onError);
		else if (isTyping(current)) out.add(current, '/stop', []);
		else return;
		announce(text('pageStopping'));
	}

	const isTyping = (chat) => typing.get(chat) > Date.now();

	// focus puts the cursor into the box, unless that would open a keyboard on the screen.
	const focus = () => matchMedia('(pointer: coarse)').matches || input.focus();

	// insert sorts an element by its sequence number; those without are last.
	function insert(e) {
		const seq = (x) => x.message?.seq ?? Infinity;
		let next = null;
		for (let x = $('log').lastElementChild; x && seq(x) > seq(e); x = x.previousElementSibling) next = x;
		$('log').insertBefore(e, next);
		drawWelcome();
	}

	function show(m) {
		const old = shown.get(m.id);
		if (old && (m.removed ? old.message.removed : isClosed(old.message) || !isClosed(m))) return; // nothing else changes
		const e = messageView(m, choose);
		shown.set(m.id, e);
		noteQuestion(m);
		if (old) old.replaceWith(e);
		else insert(e);
		for (const [id, l] of unsent) if (id === m.client_id || l.item.message === m.id) dropUnsent(id);
		out.drop(m.client_id);
		for (const x of [e, e.nextElementSibling]) {
			if (!x?.message) continue;
			const before = x.previousElementSibling?.message;
			x.querySelector('.day')?.remove();
			if (!before || day(before.time) !== day(x.message.time)) x.prepend(h('p.day', day(x.message.time)));
		}
	}

	// close shows the result of a question instead of its buttons.
	function close(p, how) {
		const e = p.chat === current && shown.get(p.id);
		questions.delete(p.id);
		drawList();
		if (!e) return;
		e.message = { ...e.message, ...how };
		e.querySelector('.choices')?.replaceWith(result(e.message));
		drawLive();
	}

	// noteQuestion notes whether a message is an open question.
	const noteQuestion = (m) => (isQuestion(m) ? questions.set(m.id, m.chat) : questions.delete(m.id));

	const asks = (chat) => [...questions.values()].includes(chat);

	function drawWelcome() {
		$('hello').hidden = loading > 0 || $('log').childElementCount > 0 || !$('live').hidden;
	}

	function clear() {
		for (const e of shown.values()) e.remove();
		shown.clear();
	}

	// load fetches the newest messages, or those before a number.
	async function load(before) {
		const chat = current;
		loading++;
		try {
			const page = await history(chat, before);
			if (chat !== current) return;
			scroll.onscroll(); // the event of a scroll may arrive later than the messages
			// If no message is known, there is a gap before them.
			if (!before && page.more && !page.messages.some((m) => shown.has(m.id))) clear();
			const all = before || !shown.size, height = scroll.scrollHeight;
			page.messages.forEach(show);
			if (all) $('older').hidden = !page.more;
			if (before) scroll.scrollTop += scroll.scrollHeight - height;
			else if (atEnd) toEnd();
		} catch (e) {
			onError(e);
		} finally {
			loading--;
			drawLive();
			drawList();
			scroll.onscroll();
		}
	}

	const older = () => loading || $('older').hidden || load($('log').firstElementChild.message.seq);

	function drawLive() {
		const p = running.get(current), s = stoppable(current);
		$('live').hidden = !p && !s && !isTyping(current);
		$('live').classList.toggle('asks', asks(current));
		const screen = () => $('now').querySelector('.screen'), x = screen()?.scrollLeft;
		update($('now'), [p?.html], () => [(p && body(p)) || text('working')]);
		if (x && screen()) screen().scrollLeft = x;
		update($('acts'), [s?.id, s?.buttons], () => [s && buttons(s, choose)]);
		drawWelcome();
	}

	function drawDraft(p) {
		const e = h('li.theirs', unseen('nanobot:'), h('div.card', body(p)));
		if (p.e?.isConnected) p.e.replaceWith(e);
		else if (p.chat === current) insert(e);
		p.e = e;
	}

	function loadChats() {
		loadingChats ??= get('api/chats').then((c) => (chats = c), (e) => void onError(e)).finally(() => {
			loadingChats = null;
			drawList();
		});
		return loadingChats;
	}

	function drawList() {
		if (!document.hidden && !$('chat').hidden) unread.delete(current);
		chats.sort((a, b) => at(b.updated) - at(a.updated));
		const entries = chats.map((c) => ({ ...c, here: c.id === current, busy: running.has(c.id) || !!stoppable(c.id), asks: asks(c.id), news: unread.has(c.id) }));
		setChildren($('chats'), entries.map((c) => {
			if (!links.has(c.id)) links.set(c.id, h('li', h('a', { href: '#/c/' + c.id })));
			const a = links.get(c.id).firstChild;
			a.ariaCurrent = c.here ? 'page' : null;
			update(a, c, () => [h('span.name', c.title || text('pageUntitled')), c.busy && !c.asks && h('span.spinner', unseen(text('working'))),
				c.news && h('span.dot', unseen(text('pageNewMessages'))), h('small', c.asks && h('b.waiting', text('pageAsksYou') + ' · '), moment(c.updated))]);
			return a.parentNode;
		}));
		$('title').textContent = entries.find((c) => c.here)?.title || text('pageNewChat');
		document.title = (unread.size ? `(${unread.size}) ` : '') + 'nanobot';
	}

	const nearEnd = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 60;
	function toEnd() {
		atEnd = $('latest').hidden = true;
		scroll.scrollTop = scroll.scrollHeight;
		top = scroll.scrollTop;
	}
	// Only an upward scroll ends following: when the content grows, a scroll event may arrive late.
	let top = 0;
	scroll.onscroll = () => {
		if (nearEnd()) atEnd = true;
		else if (scroll.scrollTop < top) atEnd = false;
		top = scroll.scrollTop;
		$('latest').hidden = atEnd;
		if (!atEnd && top < 150) older();
	};
	const grown = new ResizeObserver(() => atEnd && toEnd());
	grown.observe(scroll);
	grown.observe(scroll.firstElementChild);
	$('older').onclick = older;
	$('latest').onclick = () => {
		toEnd();
		input.focus();
	};
	document.addEventListener('visibilitychange', drawList);
	setInterval(drawLive, 1000);

	// open shows a chat: the one with an id, a new one, or the newest.
	async function open(id, wantsNew) {
		if (!wantsNew) id ||= current || out.chat();
		if (!id && !wantsNew) {
			if (!(await loadChats())) return setTimeout(open, 5000);
			id = current || chats[0]?.id;
		}
		id ||= 'web-' + random(); // exists once it has a message
		onOpen(id);
		if (id !== current) {
			current = id;
			clear();
			unsent.clear();
			$('log').replaceChildren();
			$('older').hidden = true;
			input.open(id);
			load();
			out.claim(id);
			out.of(id).forEach(drawUnsent);
			drafts.forEach(drawDraft);
			drawLive();
			toEnd();
		}
		drawList();
	}

	return {
		open,
		// connected is called when the stream starts. All transient messages are sent again.
		connected(missed) {
			if (missed) {
				clear();
				$('older').hidden = false;
			}
			running.clear();
			drafts.forEach((p) => p.e.remove());
			drafts.clear();
			drawLive();
			loadChats();
			if (current) load();
			out.retry();
		},
		focus,
		stop,
		busy: () => running.size + drafts.size > 0 || [...typing.keys()].some(isTyping),
		on: {
			message(m) {
				const here = m.chat === current, c = chats.find((x) => x.id === m.chat);
				if (m.from === 'bot') typing.delete(m.chat);
				noteQuestion(m);
				if (here) {
					show(m);
					drawLive();
				} else {
					out.drop(m.client_id);
				}
				if (m.from === 'bot') {
					unread.add(m.chat);
					if (here) announce([m.text || text('pageFiles'), ...(m.buttons || []).map((b) => b.label), isQuestion(m) && text('pageAwaitsAnswer')].filter(Boolean).join(', '));
				}
				if (c) c.updated = m.time;
				else loadChats();
				drawList();
			},
			progress(p) {
				if (p.draft) {
					p.e = drafts.get(p.id)?.e;
					drafts.set(p.id, p);
					drawDraft(p);
					return drawLive();
				}
				const first = !running.has(p.chat);
				p.html = p.html.replace('⏳ ', ''); // the page has a spinner
				running.set(p.chat, p);
				if (p.chat === current) drawLive();
				if (!first) return;
				drawList();
				if (p.chat === current) announce(text('working') + ' ' + (p.text || ''));
			},
			gone(p) {
				drafts.get(p.id)?.e.remove();
				drafts.delete(p.id);
				if (running.get(p.chat)?.id === p.id) running.delete(p.chat);
				typing.delete(p.chat);
				drawLive();
				drawList();
			},
			typing(t) {
				typing.set(t.chat, Date.now() + 7000);
				drawLive();
			},
			pressed(p) {
				const e = p.chat === current && shown.get(p.id);
				if (!e || !e.message.buttons.some((b) => b.stays && b.data === p.data)) close(p, { pressed: p.data });
			},
			removed(p) {
				const e = p.chat === current && shown.get(p.id);
				if (e) show({ ...e.message, text: '', html: '', removed: true });
				loadChats(); // the secret may be the title of its chat
			},
			closed: (p) => close(p, { outcome: p.outcome }),
		},
	};
}
