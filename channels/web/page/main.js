// The views, and the event stream.
import { $, icon, announce } from './dom.js';
import { themeButton } from './themebutton.js';
import { change, get, post, stream } from './api.js';
import { ask } from './dialog.js';
import { text } from './text.js';
import { chatView } from './chat.js';
import { lightbox } from './media.js';
import { notifier } from './notify.js';

const chat = chatView((id) => $('chat').hidden || history.replaceState(null, '', '#/c/' + id), onError);
let opView = null; // null for other users
let timer, user, offline = false;

// showStatus shows a status beside the title, for ms if given.
function showStatus(status, ms) {
	clearTimeout(timer);
	$('line').textContent = status;
	if (ms) timer = setTimeout(showStatus, ms, '');
}

function onError(e) {
	if (e.status !== 401) return offline || showStatus(text('pageDidNotWork', { reason: e.message }), 8000);
	$('why').textContent = e.code === 'signed_out' ? text('signInAskForLink') : e.message + '.';
	if (!$('login').hidden) return;
	show('login');
	connect(); // until the user has signed in again
}

function show(name) {
	for (const id of ['chat', 'console', 'login']) $(id).hidden = id !== name;
	document.body.className = name;
	for (const a of $('views').children) a.ariaCurrent = a.dataset.view === name ? 'page' : null;
	menu(false);
	if (name !== 'chat') $('cancel').click(); // a voice note
}

async function route() {
	const { hash } = location, [, where, id = '', seq] = hash.split('/');
	if (where === 'console') await operator;
	if (hash !== location.hash) return; // the person has gone elsewhere meanwhile
	if (where === 'console' && opView) {
		show('console');
		return opView.open(id);
	}
	show('chat');
	await chat.open(where === 'c' ? id : '', where === 'new', Number(seq));
	if (document.activeElement !== $('search')) chat.focus();
}

// menu shows or hides the list of chats on a phone.
function menu(open) {
	document.body.classList.toggle('menu', open);
	$('menu').ariaExpanded = open;
}

$('menu').onclick = () => {
	menu($('menu').ariaExpanded !== 'true');
	if ($('menu').ariaExpanded === 'true') $('new').focus();
};
document.onkeydown = (e) => {
	if (e.key !== 'Escape' || e.isComposing || document.querySelector('dialog[open]')) return;
	if ($('menu').ariaExpanded !== 'true') return $('chat').hidden || chat.stop();
	menu(false);
	$('menu').focus();
};
$('main').onclick = () => menu(false);
$('side').onclick = (e) => /** @type {Element} */ (e.target).closest('[aria-current]') && route(); // the address stays
// reset removes all data of the user and reloads.
async function reset() {
	await bell.forget();
	sessionStorage.clear();
	history.replaceState(null, '', '#/');
	location.reload();
}

$('out').onclick = () => bell.forget().then(() => post('out')).then(reset, onError);
// setName shows the name of the person, and asks for another one.
function setName(name) {
	$('me').textContent = text('pageYourName') + ': ' + (name || user);
	$('me').onclick = async () => {
		const wanted = await ask(text('pageChooseName'), text('pageSave'), name);
		if (wanted !== false) change('api/me', { name: wanted }).then((me) => setName(me.name), onError);
	};
}
$('skip').onclick = (e) => {
	e.preventDefault();
	$('main').focus();
};

// operator resolves once the console is loaded, if the user is an operator.
const loadConsole = () => get('api/health').then(async (health) => {
	opView ??= (await import('./console.js')).consoleView(health, onError);
	$('views').hidden = false;
}).catch(() => {});
let operator = loadConsole();

for (const e of document.querySelectorAll('[data-icon]')) e.prepend(icon(e.dataset.icon));
lightbox();
themeButton();
const bell = notifier((what) => showStatus(what, 8000), onError);
window.onhashchange = route;
route();

const connect = stream({ ...chat.on, message: (m) => [chat.on.message(m), bell.message(m)], notice: (n) => showStatus(n.text, 8000), turn: (t) => opView?.turn(t), reload: () => opView?.reload() }, chat.busy, (up) => {
	if (up && (user ??= up.user) !== up.user) return reset(); // another user has signed in
	if (up) setName(up.name);
	showStatus(up ? '' : text('pageReconnecting'));
	if (up && offline) announce(text('pageReconnected'));
	offline = !up;
	if (!up) return get('api/chats').catch((e) => e.status === 401 && onError(e));
	bell.ready(up);
	chat.connected(up);
	opView?.reload();
	if ($('login').hidden) return;
	operator = loadConsole();
	route();
});
