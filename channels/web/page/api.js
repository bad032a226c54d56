// The HTTP API, and the event stream, which reconnects.
import { room } from './dom.js';
import { text } from './text.js';

// HTTPError is an error status, or no response (status 0).
export class HTTPError extends Error {
	constructor(status, body) {
		let why = status ? text('pageServerAnswered', { status }) : text('pageNoConnection'), code;
		try {
			({ error: why = why, code } = JSON.parse(body));
		} catch { /* not JSON */ }
		super(why.replace(/\.$/, ''));
		this.status = status;
		this.code = code;
		this.retryable = !status || status === 401 || status === 429 || status >= 500;
	}
}

async function request(path, options) {
	let r, body;
	try {
		r = await fetch(path, options);
		body = await r.text();
	} catch {
		throw new HTTPError(0);
	}
	if (!r.ok) throw new HTTPError(r.status, body);
	return JSON.parse(body || 'null');
}

export const get = (path) => request(path, { cache: 'no-store' });
const put = (method, path, body) => request(path, { method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
export const post = (path, body = {}) => put('POST', path, body);
export const change = (path, body) => put('PATCH', path, body);
export const remove = (path, body) => put('DELETE', path, body);

export const chatPath = (chat) => 'api/chats/' + encodeURIComponent(chat);

/** @type {ReadHistory} */
export const history = (chat, where = '') => get(chatPath(chat) + '/messages?limit=50' + where);
export const press = (chat, message, data) => post(chatPath(chat) + '/press', { message, data, room: room() });

// send posts a message, or edits one, and reports the progress of the upload, from 0 to 1.
/** @type {Send} */
export function send(chat, item, onProgress) {
	if (item.edits) return change(chatPath(chat) + '/messages/' + item.edits, { text: item.text, client_id: item.id });
	const form = new FormData();
	form.append('client_id', item.id);
	form.append('room', room());
	form.append('text', new Blob([item.text])); // keeps the line ends
	for (const f of item.files) form.append('file', f, f.name);
	return new Promise((done, fail) => {
		const x = new XMLHttpRequest();
		x.open('POST', chatPath(chat) + '/messages');
		x.upload.onprogress = (e) => onProgress(e.loaded / e.total);
		x.onload = () => (x.status < 300 ? done(JSON.parse(x.responseText)) : fail(new HTTPError(x.status, x.responseText)));
		x.onerror = x.onabort = () => fail(new HTTPError(0));
		x.send(form);
	});
}

// stream calls the functions of on with events, and state with the ready event, or null when
// disconnected. It resumes after the last event seen, and returns a function that reconnects.
/** @type {Stream} */
export function stream(on, busy, state) {
	let last = '', wait = 500, push = false, hidden, source, timer, idle;
	function close() {
		clearTimeout(timer);
		source?.close();
		source = null;
	}
	function open() {
		close();
		hidden = document.hidden;
		source = new EventSource('api/events?' + new URLSearchParams({ ...(last && { after: last }), ...(hidden && { hidden: '1' }) }));
		source.onerror = () => {
			close();
			state(null);
			timer = setTimeout(open, wait * (0.75 + Math.random() / 2));
			wait = Math.min(wait * 2, 10000);
		};
		const ready = (r) => {
			wait = 500;
			push = r.push;
			state(r);
		};
		for (const [name, f] of Object.entries({ ready, ...on })) {
			source.addEventListener(name, (e) => {
				last = e.lastEventId || last;
				f(JSON.parse(e.data));
			});
		}
	}
	// A browser has six connections for all tabs: a hidden tab closes its own, unless a turn runs.
	function closeLater() {
		idle = setTimeout(() => (busy() ? closeLater() : close()), 30000);
	}
	function resume() {
		clearTimeout(idle);
		// The server pushes notifications to those who have no stream of a visible page.
		if (source ? push && hidden !== document.hidden : !document.hidden) open();
		if (document.hidden) closeLater();
	}
	document.addEventListener('visibilitychange', resume);
	window.ononline = () => document.hidden || open();
	open();
	resume();
	return open;
}
