// Files: in a message, large, and before they are sent.
import { $, h, button, icon, bytes } from './dom.js';

const address = (m) => 'api/media/' + encodeURIComponent(m.id);
const isPicture = (m) => /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(m.type);

// gallery shows what came with a message.
export function gallery(media) {
	const pictures = media.filter(isPicture);
	return [
		pictures.length > 0 && h('ul.gallery', { 'data-count': { 1: 1, 3: 3 }[pictures.length] || 2 }, pictures.map((m, i) => h('li', thumbnail(m, i, pictures)))),
		media.filter((m) => !isPicture(m)).map(piece),
	].flat();
}

function thumbnail(m, i, all) {
	const alt = (all.length > 1 ? `Picture ${i + 1} of ${all.length}: ` : 'Picture: ') + m.name;
	return button('', () => enlarge(all, i), h('img', { src: address(m), alt, loading: 'lazy', width: m.width, height: m.height }));
}

function piece(m) {
	const kind = m.type.split('/')[0];
	if (kind === 'video' || kind === 'audio') return h(kind, { src: address(m), controls: '', 'aria-label': m.name });
	return h('a.file', { href: address(m), download: m.name }, icon('file'), label(m));
}

const label = (f) => h('span', h('b', f.name), h('small', bytes(f.size)));

let shown = [], place = 0;

function enlarge(pictures, i) {
	shown = pictures;
	turn(i);
	$('lightbox').showModal();
}

function turn(i) {
	const n = shown.length;
	place = (i + n) % n;
	const m = shown[place];
	$('large').src = $('original').href = address(m);
	$('large').alt = $('original').download = m.name;
	$('caption').textContent = (n > 1 ? `${place + 1} of ${n} · ` : '') + m.name;
	$('before').hidden = $('after').hidden = n < 2;
}

export function lightbox() {
	const box = $('lightbox');
	$('shut').onclick = () => box.close();
	$('before').onclick = () => turn(place - 1);
	$('after').onclick = () => turn(place + 1);
	box.onclick = (e) => e.target === box && box.close();
	box.onkeydown = (e) => {
		const step = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
		if (step) turn(place + step);
	};
}

// preview shows a file to be sent, and perhaps a way to remove it.
export function preview(file, remove) {
	let face = icon('file');
	if (isPicture(file)) {
		const src = URL.createObjectURL(file);
		face = h('img', { src, alt: '' });
		face.onload = () => URL.revokeObjectURL(src);
	}
	return h('li', face, label(file), remove && button('icon', remove, { 'aria-label': 'Remove ' + file.name }, icon('close')));
}
