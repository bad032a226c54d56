// A voice note, which the browser records.
import { $, announce, duration } from './dom.js';
import { text } from './text.js';

const endings = { 'audio/ogg': 'ogg', 'audio/webm': 'weba', 'audio/mp4': 'm4a' };

// voiceNote calls send(file) with what was recorded. It returns a function that cancels.
/** @type {MakeVoice} */
export function voiceNote(send, onError) {
	/** @type {MediaRecorder} */
	let recorder;
	let timer, kept;

	async function start() {
		if (!navigator.mediaDevices) throw new Error(text('pageRecordNeedsHttps'));
		const sound = await navigator.mediaDevices.getUserMedia({ audio: true }).catch(() => {
			throw new Error(text('pageNoMicrophone'));
		});
		const end = () => sound.getTracks().forEach((t) => t.stop());
		if (!$('composer').offsetHeight) return end(); // the person has gone elsewhere
		const parts = [], began = Date.now(), form = $('composer').classList;
		const draw = () => ($('recorded').textContent = duration(Date.now() - began));
		recorder = new MediaRecorder(sound, { mimeType: Object.keys(endings).find((t) => MediaRecorder.isTypeSupported(t)) });
		recorder.ondataavailable = (e) => parts.push(e.data);
		recorder.onstop = () => {
			clearInterval(timer);
			end();
			form.remove('records');
			const [type] = recorder.mimeType.split(';');
			if (kept) send(new File(parts, 'voice.' + endings[type], { type }));
			$('text').focus();
		};
		kept = false; // also if the microphone is taken away
		recorder.start();
		timer = setInterval(draw, 1000);
		draw();
		form.add('records');
		announce(text('pageRecording'));
		$('keep').focus();
	}

	function stop(keep) {
		kept = keep;
		if (recorder?.state === 'recording') recorder.stop();
	}

	const cancel = () => stop(false);
	$('record').onclick = () => {
		$('record').disabled = true;
		start().catch(onError).finally(() => ($('record').disabled = false));
	};
	$('keep').onclick = () => stop(true);
	$('cancel').onclick = cancel;
	$('recorder').onkeydown = (e) => {
		if (e.key !== 'Escape') return;
		e.stopPropagation();
		cancel();
	};
	return cancel;
}
