// Questions of the page itself.
import { h, button } from './dom.js';
import { text } from './text.js';

// ask shows a question with an action and Cancel, which has the focus. With a value it asks for a
// text instead. It resolves with the text, or true; false: the person has cancelled.
/** @type {Ask} */
export function ask(question, action, value) {
	const field = value === undefined ? null : /** @type {HTMLInputElement} */ (h('input', { value, maxlength: 60, 'aria-label': question, autofocus: '' }));
	const cancel = button('soft', () => box.close(), text('pageCancel'));
	const box = /** @type {HTMLDialogElement} */ (h('dialog.ask', { 'aria-label': question }, h('form', { method: 'dialog' },
		h('p', question), field, h('div.choices', cancel, h(field ? 'button.choice' : 'button.choice bad', { value: 'yes' }, action)))));
	if (!field) cancel.autofocus = true;
	document.body.append(box);
	box.showModal();
	field?.select();
	return new Promise((done) => (box.onclose = () => {
		box.remove();
		done(box.returnValue === 'yes' && (field ? field.value : true));
	}));
}
