// Which view is shown, and the stream that feeds them.
import { $, icon, say } from './dom.js';
import { get, post, stream } from './api.js';
import { chatView } from './chat.js';
import { lightbox } from './media.js';

const chat = chatView((id) => $('chat').hidden || history.replaceState(null, '', '#/c/' + id), refused);
let board = null; // the console, for operators
let timer, who, lost = false;

// note says something beside the title, for good or for a while.
function note(text, ms) {
	clearTimeout(timer);
	$('line').textContent = text;
	if (ms) timer = setTimeout(note, ms, '');
}

function refused(e) {
	if (e.status !== 401) return lost || note('That did not work: ' + e.message, 8000);
	if (!$('door').hidden) return;
	view('door');
	connect(); // until we are let in again
}

function view(name) {
	for (const id of ['chat', 'console', 'door']) $(id).hidden = id !== name;
	document.body.className = name;
	for (const a of $('views').children) a.ariaCurrent = a.textContent.toLowerCase() === name ? 'page' : null;
	menu(false);
}

async function route() {
	const [, where, id = ''] = location.hash.split('/');
	if (where === 'console') await operator;
	if (where === 'console' && board) {
		view('console');
		return board.open(id);
	}
	view('chat');
	await chat.open(where === 'c' ? id : '', where === 'new');
	if (matchMedia('(hover: hover)').matches) chat.focus();
}

// menu is the list of chats on a phone.
function menu(open) {
	document.body.classList.toggle('menu', open);
	$('menu').ariaExpanded = open;
}

$('menu').onclick = () => {
	menu($('menu').ariaExpanded !== 'true');
	if ($('menu').ariaExpanded === 'true') $('new').focus();
};
document.onkeydown = (e) => {
	if (e.key !== 'Escape' || $('menu').ariaExpanded !== 'true') return;
	menu(false);
	$('menu').focus();
};
$('main').onclick = () => menu(false);
// forget reloads, with nothing of who was here.
function forget() {
	sessionStorage.clear();
	history.replaceState(null, '', '#/');
	location.reload();
}

$('out').onclick = () => post('out').then(forget, refused);
$('skip').onclick = (e) => {
	e.preventDefault();
	$('main').focus();
};

// operator says whether the console is for us.
const ask = () => get('api/health').then(async (health) => {
	board ??= (await import('./console.js')).consoleView(health, refused);
	$('views').hidden = false;
}).catch(() => {});
let operator = ask();

for (const e of document.querySelectorAll('[data-icon]')) e.prepend(icon(e.dataset.icon));
lightbox();
window.onhashchange = route;
route();

const connect = stream({ ...chat.on, turn: (t) => board?.turn(t), reload: () => board?.reload() }, chat.busy, (up) => {
	if (up && (who ??= up.user) !== up.user) return forget(); // somebody else is in
	note(up ? '' : 'Reconnecting…');
	if (up && lost) say('Connected again');
	lost = !up;
	if (!up) return get('api/chats').catch((e) => e.status === 401 && refused(e));
	chat.connected(up.missed);
	board?.reload();
	if ($('door').hidden) return;
	operator = ask();
	route();
});
