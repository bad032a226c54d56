// The panel of nanobot dev: the last turn as its cassette has it.
import { $, h, button, bytes } from '../dom.js';
import { get, post } from '../api.js';
import { ask } from '../dialog.js';
import { text } from '../text.js';

const list = h('ol'), note = h('p.note', { role: 'status' }), more = h('p.note'), fate = h('p.note', { role: 'status' });
const save = button('soft', saveTest, text('devSave'), h('kbd', text('devKey')));
const panel = h('aside', { id: 'dev', 'aria-label': text('devTitle') },
	h('header', h('h2', text('devTitle')), save), fate, note, more, h('div', { tabindex: 0, role: 'region', 'aria-label': text('devTitle') }, list));
const scroll = /** @type {HTMLElement} */ (panel.lastChild);
let turn = '', after = 0;

// summary is what a line says in a few words.
function summary(line) {
	const body = line[line.type] || {};
	const type = [body.type || body.kind || body.status || body.state, body.code].filter((x) => x !== undefined).join(' ');
	const said = body.text ?? body.error ?? body.message_id ?? '';
	return [type && h('b', type), ' ', said.length > 200 ? said.slice(0, 200) + '…' : said];
}

/** @param {Record<string, any>} line */
function row(line) {
	const pre = h('pre', { tabindex: 0 }), e = h('details', h('summary', h('time', line.at === undefined ? '' : `+${line.at} ms`), ' ', h('code', line.type), ' ', ...summary(line)), pre);
	e.ontoggle = () => pre.textContent ||= JSON.stringify(line, null, 2);
	return h('li', { 'data-type': line.type }, e);
}

async function load() {
	const r = await get(`api/dev?turn=${encodeURIComponent(turn)}&after=${after}`);
	if (r.turn !== turn) list.replaceChildren();
	const end = scroll.scrollTop + scroll.clientHeight > scroll.scrollHeight - 40;
	({ turn, after } = r);
	list.append(...r.lines.map(row));
	if (end && r.lines.length) scroll.scrollTop = scroll.scrollHeight;
	if (note.textContent !== (r.note || '')) note.textContent = r.note || '';
	more.textContent = turn ? r.left ? text('devLeft', { size: bytes(r.left), turn: turn.split('.')[0] }) : '' : text('devNone');
	save.toggleAttribute('disabled', !turn);
}

async function saveTest() {
	const which = turn; // a later one may begin while the person writes
	let why = '', name;
	while (which && !document.querySelector('dialog[open]') && (name = await ask([why, text('devName')].filter(Boolean).join(' '), text('pageSave'), typeof name === 'string' ? name : '')) !== false) {
		try {
			const { command } = await post('api/dev', { turn: which, name });
			return fate.replaceChildren(text('devSaved'), ' ', h('code', command));
		} catch (e) {
			why = e.message + '.';
			if (e.code !== 'name') return fate.replaceChildren(why);
		}
	}
}

addEventListener('keydown', (e) => {
	if (!panel.checkVisibility() || e.key.toLowerCase() !== 's' || !(e.ctrlKey || e.metaKey) || e.shiftKey || e.altKey) return;
	e.preventDefault();
	saveTest();
});

async function poll() {
	if (!document.hidden) await load().catch(() => {}); // the page says that there is no connection
	setTimeout(poll, 400);
}

document.body.classList.add('dev');
$('main').after(panel);
poll();
