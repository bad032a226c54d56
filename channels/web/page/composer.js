// The form for a message: text and files.
import { $, persist, announce } from './dom.js';
import { choices } from './menu.js';
import { voiceNote } from './voice.js';
import { preview } from './media.js';
import { text } from './text.js';

// composer calls submit(text, files, id), with the ID of a message that is edited, and recall() for
// the text of the last message. It persists a draft for each chat.
/** @type {MakeComposer} */
export function composer(submit, recall, onError) {
	const box = $('text'), form = $('composer');
	let files = [], draft = '';
	/** @type {Message} */
	let edited = null; // the message that the box shows
	const menu = choices((line) => submit(line, []), fit);
	const cancelNote = voiceNote((file) => submit('', [file]), onError);
	const attached = new Map(); // draft → its files

	function fit() {
		box.style.height = 'auto';
		box.style.height = box.scrollHeight + 'px';
		$('send').disabled = !box.value.trim() && !(edited ? edited.media : files)?.length;
		if (!edited) persist(draft, box.value);
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

	// edit shows a message in place of the draft, or the draft again.
	function edit(m) {
		edited = m;
		form.classList.toggle('edits', !!m);
		box.value = m ? m.text : sessionStorage.getItem(draft) || '';
		choose(attached.get(draft) || []);
		box.focus();
		if (m) announce(text('pageEditing'));
	}

	function attach(more) {
		if (!more.length || edited) return;
		announce(text('pageAttached', { files: more.map((f) => f.name).join(', ') }));
		choose(files.concat(more));
		box.focus();
	}

	form.onsubmit = (e) => {
		e.preventDefault();
		const words = box.value.trim(), along = files, was = edited;
		if ($('send').disabled) return;
		if (was) {
			edit(null);
			return submit(words, [], was.id);
		}
		box.value = '';
		choose([]);
		menu.typed(); // hides the list
		submit(words, along);
		box.focus();
	};
	box.oninput = () => {
		menu.typed();
		fit();
	};
	$('unedit').onclick = () => edit(null);
	box.onkeydown = (e) => {
		if (menu.key(e)) return;
		if (e.key === 'Escape' && edited) {
			e.stopPropagation();
			return edit(null);
		}
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

	// A file is dropped anywhere: beside the chat the browser would open it in place of the page.
	const over = (on) => ($('dropzone').hidden = !on);
	const has = (/** @type {DragEvent} */ e, does) => {
		if (!e.dataTransfer.types.includes('Files')) return; // a text
		e.preventDefault();
		does();
	};
	document.ondragover = (e) => has(e, () => over(true));
	document.ondragleave = (/** @type {any} */ e) => e.relatedTarget || over(false);
	document.ondrop = (e) => has(e, () => {
		over(false);
		if (form.offsetHeight) attach([...e.dataTransfer.files]);
	});

	return {
		open(chat) {
			const early = draft ? '' : box.value, along = draft ? [] : files; // from before the chat was known
			draft = 'draft:' + chat;
			cancelNote();
			menu.open(chat);
			edited = null;
			form.classList.remove('edits');
			box.value = early || sessionStorage.getItem(draft) || '';
			choose((attached.get(draft) || []).concat(along));
		},
		edit,
		// menuChanged is called when the agent may have changed, or its commands.
		menuChanged: menu.changed,
		focus: () => box.focus(),
	};
}
