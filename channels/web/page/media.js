// Files: in messages, enlarged, and before they are sent.
import { $, h, button, icon, bytes } from './dom.js';
import { text } from './text.js';

const address = (m) => 'api/media/' + encodeURIComponent(m.id);
const isPicture = (m) => /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(m.type);

// gallery shows the files of a message.
/** @param {Media[]} media */
export function gallery(media) {
	const pictures = media.filter((m) => isPicture(m) && !m.state);
	return [
		pictures.length > 0 && h('ul.gallery', { 'data-count': { 1: 1, 3: 3 }[pictures.length] || 2 }, pictures.map((m, i) => h('li', thumbnail(m, i, pictures)))),
		media.filter((m) => !pictures.includes(m)).flatMap(fileView),
	].flat();
}

function thumbnail(m, i, all) {
	const alt = (all.length > 1 ? text('pagePictureOf', { number: i + 1, count: all.length }) : text('pagePicture')) + ': ' + m.name;
	const image = h('img', { src: address(m), alt, loading: 'lazy', width: m.width, height: m.height });
	if (all.length === 1 && m.width) setSize(image, m, m.width);
	const view = button('', () => enlarge(all, i), image);
	image.onerror = () => explain(view, m);
	return view;
}

// missing names a file that was removed or changed after it was sent.
const missing = (m, why) => h('span.file missing', icon('file'), h('span', h('b', m.name), h('small', why)));

// explain replaces a file that cannot be shown by the reason, if it is gone for good.
async function explain(view, m) {
	const r = await fetch(address(m)).catch(() => null);
	if (r?.status === 410) view.replaceWith(missing(m, (await r.json()).error));
}

// setSize sets the size before the file is loaded, so that the conversation does not move then.
function setSize({ style }, { width = 16, height = 9 }, most = 384) {
	style.aspectRatio = width / height;
	style.width = `min(${most}px, 24rem, ${(24 * width) / height}rem)`;
}

function fileView(m) {
	if (m.state) return missing(m, m.state === 'gone' ? text('pageFileGone') : text('pageFileChanged'));
	const kind = m.type.split('/')[0];
	const link = h('a.file', { href: address(m), download: m.name }, icon('file'), label(m));
	if (kind !== 'video' && kind !== 'audio') return link;
	const player = h(kind, { src: address(m), controls: '', preload: 'metadata', 'aria-label': m.name });
	if (kind === 'video') setSize(player, m);
	player.onerror = () => explain(player, m);
	return [player, link];
}

const label = (f) => h('span', h('b', f.name), h('small', bytes(f.size)));

let shown = [], index = 0;

function enlarge(pictures, i) {
	shown = pictures;
	showPicture(i);
	$('lightbox').showModal();
}

function showPicture(i) {
	const n = shown.length;
	index = (i + n) % n;
	const m = shown[index];
	$('large').src = $('original').href = address(m);
	$('large').alt = $('original').download = m.name;
	$('caption').textContent = (n > 1 ? text('pageNumberOfPictures', { number: index + 1, count: n }) + ' · ' : '') + m.name;
	$('before').hidden = $('after').hidden = n < 2;
}

export function lightbox() {
	const box = $('lightbox');
	$('shut').onclick = () => box.close();
	$('before').onclick = () => showPicture(index - 1);
	$('after').onclick = () => showPicture(index + 1);
	box.onclick = (e) => e.target === box && box.close();
	box.onkeydown = (e) => {
		const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
		if (step) showPicture(index + step);
	};
}

// preview shows a file to be sent, and a button if it can be removed.
/** @type {Preview} */
export function preview(file, remove) {
	let image = icon('file');
	if (isPicture(file)) {
		const src = URL.createObjectURL(file);
		image = h('img', { src, alt: '' });
		image.onload = () => URL.revokeObjectURL(src);
	}
	return h('li', image, label(file), remove && button('icon', remove, { 'aria-label': text('pageRemove', { file: file.name }) }, icon('close')));
}
