// DOM helpers that take no markup, and formats of times and sizes.

/** @type {Find} */
export const $ = (/** @type {any} */ id) => document.getElementById(id);

function make(e, kids) {
	if (kids[0]?.constructor === Object) for (const [k, v] of Object.entries(kids.shift())) v != null && e.setAttribute(k, v);
	e.append(...kids.flat().filter((k) => k != null && k !== false));
	return e;
}

// h creates an element from tag.classes, optional attributes and children; null and false are
// skipped.
/** @type {Create<HTMLElement>} */
export function h(tag, ...kids) {
	const [name, classes] = tag.split('.'), e = make(document.createElement(name), kids);
	if (classes) e.className = classes;
	return e;
}
/** @type {Create<any>} */
export const svg = (tag, ...kids) => make(document.createElementNS('http://www.w3.org/2000/svg', tag), kids);
export const icon = (name) => svg('svg', { 'aria-hidden': 'true' }, svg('use', { href: '#i-' + name }));
/** @type {CreateButton} */
export const button = (classes, click, ...kids) => Object.assign(h('button.' + classes, ...kids), { type: 'button', onclick: click });
export const unseen = (text) => h('span.unseen', text);

// update renders the content of an element again if its data has changed.
/** @type {Update} */
export function update(e, of, build) {
	const made = JSON.stringify(of);
	if (e.made === made) return;
	e.made = made;
	e.replaceChildren(...build().filter(Boolean));
}

// setChildren moves only the elements that are out of place, so that others keep the focus.
export function setChildren(box, list) {
	list.forEach((e, i) => box.children[i] === e || box.insertBefore(e, box.children[i]));
	while (box.childElementCount > list.length) box.lastChild.remove();
}

// persist stores a text that must survive a reload.
export function persist(name, text) {
	try {
		sessionStorage.setItem(name, text);
	} catch { /* it is full */ }
}

// room is how many columns and rows of a terminal fit the page, such as 80x24; empty while the chat is hidden.
export function room() {
	const run = h('span', '0'.repeat(500)), pre = h('pre.screen', run), probe = h('li.theirs', h('div.card', h('div.body', pre)));
	$('log').append(probe);
	const { width, height } = run.getBoundingClientRect(), free = pre.clientWidth - 2 * parseFloat(getComputedStyle(pre).paddingLeft);
	probe.remove();
	const within = (x, low, high) => Math.max(low, Math.min(high, Math.floor(x) || low));
	return width ? within(free / width * 500, 20, 160) + 'x' + within(innerHeight * .6 / height, 10, 50) : '';
}

// announce is for screen readers.
export const announce = (text) => ($('say').textContent = text.slice(0, 400));

export function duration(ms) {
	if (ms < 1000) return Math.max(0, Math.round(ms)) + ' ms';
	if (ms < 9950) return (ms / 1000).toFixed(1) + ' s';
	const s = Math.round(ms / 1000);
	if (s < 60) return s + ' s';
	if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
	return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}

// locales are the person's, the preferred first, and locale returns theirs of a language, such as
// en-GB of en.
const locales = [new Intl.DateTimeFormat().resolvedOptions().locale, ...navigator.languages];
const locale = (language) => locales.find((l) => l.split('-')[0] === language) || language;
const here = locale(document.documentElement.lang);
// english is the locale of the console, which has no translation; its times are the person's.
export const english = locale('en');

export const at = (t) => (t ? new Date(t).getTime() : 0);
export const clock = (t) => new Date(t).toLocaleTimeString(here, { hour: '2-digit', minute: '2-digit' });
const daysAgo = (t) => Math.round((new Date().setHours(0, 0, 0, 0) - new Date(t).setHours(0, 0, 0, 0)) / 864e5);

export function day(t, l = here) {
	const days = daysAgo(t);
	if (days < 0 || days > 1) return new Date(t).toLocaleDateString(l, { weekday: 'short', day: 'numeric', month: 'short' });
	const name = new Intl.RelativeTimeFormat(l, { numeric: 'auto' }).format(-days, 'day'); // today or yesterday
	return name[0].toLocaleUpperCase(l) + name.slice(1);
}

export const moment = (t, l = here) => (daysAgo(t) === 0 ? '' : day(t, l) + ', ') + clock(t);

export function bytes(n, l = here) {
	if (n < 1e6) return n < 1000 ? n + ' B' : Math.round(n / 1000) + ' kB';
	return (n / 1e6).toLocaleString(l, { minimumFractionDigits: 1, maximumFractionDigits: 1 }) + ' MB';
}
