// The form for a message: text and files.
import { $, persist, announce } from './dom.js';
import { preview } from './media.js';

// composer calls submit(text, files), and recall() for the text of the last message. It persists a
// draft for each chat.
export function composer(submit, recall) {
	const text = $('text'), form = $('composer');
	let files = [], draft = '';
	const attached = new Map(); // draft → its files

	function fit() {
		text.style.height = 'auto';
		text.style.height = text.scrollHeight + 'px';
		$('send').disabled = !text.value.trim() && !files.length;
		persist(draft, text.value);
	}

	function choose(now) {
		files = now;
		attached.set(draft, files);
		$('chosen').hidden = !files.length;
		$('chosen').replaceChildren(...files.map((f) => preview(f, () => {
			announce('Removed ' + f.name);
			choose(files.filter((x) => x !== f));
			text.focus();
		})));
		fit();
	}

	function attach(more) {
		if (!more.length) return;
		announce('Attached ' + more.map((f) => f.name).join(', '));
		choose(files.concat(more));
		text.focus();
	}

	form.onsubmit = (e) => {
		e.preventDefault();
		const words = text.value.trim(), along = files;
		if (!words && !along.length) return;
		text.value = '';
		choose([]);
		submit(words, along);
		text.focus();
	};
	text.oninput = fit;
	text.onkeydown = (e) => {
		if (e.key === 'ArrowUp' && !text.value) {
			e.preventDefault();
			text.value = recall();
			fit();
		}
		if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return;
		e.preventDefault();
		form.requestSubmit();
	};
	text.onpaste = (e) => {
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
			const early = draft ? '' : text.value; // typed before the chat was known
			draft = 'draft:' + chat;
			text.value = early || sessionStorage.getItem(draft) || '';
			choose(attached.get(draft) || []);
		},
		focus: () => text.focus(),
	};
}
