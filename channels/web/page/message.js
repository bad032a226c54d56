// Elements of messages.
import { $, h, button, icon, unseen, clock, announce } from './dom.js';
import { gallery, preview } from './media.js';
import { text } from './text.js';

// rich parses the HTML of a message, the only markup that the page accepts: the server has
// sanitized it, and scripts in it do not run.
function rich(html) {
	const t = document.createElement('template');
	t.innerHTML = html;
	const each = (tags, f) => t.content.querySelectorAll(tags).forEach((e) => f(e));
	let least = 6, last = 1; // headings start below the page's title and skip no level
	each('h1, h2, h3, h4, h5', (e) => (least = Math.min(least, e.tagName[1])));
	each('h1, h2, h3, h4, h5, h6', (e) => {
		last = Math.min(last + 1, e.tagName[1] - least + 2);
		e.replaceWith(h('h' + last, [...e.childNodes]));
	});
	each('input', (e) => e.setAttribute('aria-label', text('pageTaskDone')));
	// CSS ignores #undefined.
	each('.screen span', ({ style: s, dataset: d }) => ([s.color, s.background, s.width] = ['#' + d.ink, '#' + d.ground, d.cols + 'ch']));
	each('table', (e) => wrap(e, 'div.wide', { tabindex: 0, role: 'group', 'aria-label': text('pageTable') }));
	each('pre', (e) => {
		const language = e.firstElementChild?.className.match(/language-(\S+)/)?.[1] || '';
		e.tabIndex = 0;
		wrap(e, 'div.code').prepend(h('div', language, navigator.clipboard && button('soft', (c) => copy(e.textContent, c.currentTarget), text('pageCopy'))));
	});
	return t.content;
}

function wrap(e, tag, attributes) {
	const box = h(tag, attributes);
	e.replaceWith(box);
	box.append(e);
	return box;
}

async function copy(words, b) {
	b.idle ??= [...b.childNodes];
	await navigator.clipboard.writeText(words);
	b.textContent = text('pageCopied');
	announce(b.textContent);
	setTimeout(() => b.replaceChildren(...b.idle), 2000);
}

/** @param {Shown} m */
export function body(m) {
	if (m.from !== 'user' && m.html) return h('div.body', rich(m.html));
	if (m.removed) return h('div.plain', h('em', text('pageSecretRemoved')));
	return m.text && h('div.plain', m.text);
}

// messageView is a stored message.
/** @type {View<Message>} */
export function messageView(m, press) {
	const mine = m.from === 'user';
	const e = h(mine ? 'li.mine' : 'li.theirs', { 'data-kind': m.kind },
		unseen(mine ? text('pageFromYou') : m.kind === 'error' ? text('pageErrorMessage') : $('bot').textContent + ':'),
		h('div.card', body(m), gallery(m.media || [])),
		m.buttons?.length > 0 && (isClosed(m) ? result(m) : buttons(m, press)),
		h('div.tools', h('time', { datetime: m.time }, m.edited && text('pageEdited') + ' · ', clock(m.time)),
			m.text && navigator.clipboard && button('icon', (c) => copy(m.text, c.currentTarget), { 'aria-label': text('pageCopy') }, icon('copy'))));
	e.message = m;
	e.hidden = m.removed && !mine; // a screen that a newer message shows
	return e;
}

// isQuestion tells a question from an offer: a turn waits for the answer.
/** @param {Shown} m */
export const isQuestion = (m) => !isClosed(m) && m.buttons?.some((b) => b.role === 'answer');

/** @type {View<Shown>} */
export function buttons(m, press) {
	const row = h('div.choices');
	row.append(...m.buttons.map((b) => button('choice', () => press(m, b, row), b.label)));
	if (isQuestion(m)) row.append(h('span.waiting', text('pageAwaitsAnswer')));
	return row;
}

/** @param {Shown} m */
export const isClosed = (m) => m.pressed || m.outcome;

// result replaces the buttons once one was pressed, or the question is closed.
/** @param {Message} m */
export const result = (m) => h('p.result', m.outcome ? '→ ' + m.outcome
	: text('pageChosen', { choice: m.buttons.find((b) => b.data === m.pressed)?.label || m.pressed }));

// sending is an unsent message.
/** @param {Item} item */
export const sending = (item) => h('li.mine', unseen(text('pageFromYou')),
	h('div.card', item.text && h('div.plain', item.text),
		item.files.length > 0 && h('ul.chosen', item.files.map((f) => preview(f)))),
	h('p.fate', { role: 'status' }));
