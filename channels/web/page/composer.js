// The form for a message: text and files.
import { $, persist, announce } from './dom.js';
import { preview } from './media.js';
import { text } from './text.js';

// composer calls submit(text, files), and recall() for the text of the last message. It persists a
// draft for each chat.
export function composer(submit, recall) {
	const box = $('text'), form = $('composer');
	let files = [], draft = '';
	const attached = new Map(); // draft → its files

	function fit() {
		box.style.height = 'auto';
		box.style.height = box.scrollHeight + 'px';
		$('send').disabled = !box.value.trim() && !files.length;
		persist(draft, box.value);
	}

	function choose(now) {
		files = now;
		attached.set(draft, files);
		$('chosen').hidden = !files.length;
		$('chosen').replaceChildren(...files.map((f) => preview(f, () => {
			announce(text('pageRemoved', { file: f.name }));
			choose(files.filter((x) => x !== f));
			box.focus();
		})));
		fit();
	}

	function attach(more) {
		if (!more.length) return;
		announce(text('pageAttached', { files: more.map((f) => f.name).join(', ') }));
		choose(files.concat(more));
		box.focus();
	}

	form.onsubmit = (e) => {
		e.preventDefault();
		const words = box.value.trim(), along = files;
		if (!words && !along.length) return;
		box.value = '';
		choose([]);
		submit(words, along);
		box.focus();
	};
	box.oninput = fit;
	box.onkeydown = (e) => {
		if (e.key === 'ArrowUp' && !box.value) {
			e.preventDefault();
			box.value = recall();
			fit();
		}
		if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return;
		e.preventDefault();
		form.requestSubmit();
	};
	box.onpaste = (e) => {
		if (!e.clipboardData.files.length) return;
		e.preventDefault();
		attach([...e.clipboardData.files]);
	};
	$('attach').onclick = () => $('files').click();
	$('files').onchange = () => {
		attach([...$('files').files]);
		$('files').value = '';
	};

	const area = $('chat'), over = (on) => ($('dropzone').hidden = !on);
	area.ondragover = (e) => {
		if (!e.dataTransfer.types.includes('Files')) return;
		e.preventDefault();
		over(true);
	};
	area.ondragleave = (e) => area.contains(e.relatedTarget) || over(false);
	area.ondrop = (e) => {
		e.preventDefault();
		over(false);
		attach([...e.dataTransfer.files]);
	};

	return {
		open(chat) {
			const early = draft ? '' : box.value; // typed before the chat was known
			draft = 'draft:' + chat;
			box.value = early || sessionStorage.getItem(draft) || '';
			choose(attached.get(draft) || []);
		},
		focus: () => box.focus(),
	};
}
