// Notifications of answers and questions while the page is hidden: of this page, or pushed.
import { $, icon } from './dom.js';
import { get, post, remove } from './api.js';
import { text } from './text.js';

const names = () => ({ off: text('pageNotifyOff'), title: text('pageNotifyTitle'), text: text('pageNotifyText') });

// notifier calls say(text) for what the person should know.
/** @type {MakeNotifier} */
export function notifier(say, onError) {
	const button = $('notify'), all = names(), order = Object.keys(all), worker = navigator.serviceWorker;
	const possible = worker && 'Notification' in window; // in a secure context
	let user = '', canPush = false, pushed = false;
	const level = () => (possible && Notification.permission === 'granted' && localStorage.getItem('notify')) || 'off';

	function draw() {
		button.replaceChildren(icon('notify-' + level()), all[level()]);
	}

	// cancel has nothing pushed to this browser any more.
	async function cancel() {
		pushed = false;
		const own = await (await worker?.getRegistration())?.pushManager?.getSubscription();
		if (!own) return;
		await Promise.allSettled([remove('api/push', own), own.unsubscribe()]);
	}

	// subscribe has notifications pushed to this browser, also after the person has signed in again.
	async function subscribe() {
		if (level() === 'off') return cancel();
		const { pushManager } = await worker.ready;
		if (!canPush || !pushManager) return;
		const options = { userVisibleOnly: true, applicationServerKey: (await get('api/push')).key };
		const own = await pushManager.subscribe(options).catch(async () => { // it may be for another key
			await cancel();
			return pushManager.subscribe(options);
		});
		await post('api/push', { ...own.toJSON(), text: level() === 'text' });
		pushed = true;
	}

	button.onclick = async () => {
		if (!possible) return say(text('pageNotifyInsecure'));
		if (await Notification.requestPermission() !== 'granted') return say(text('pageNotifyBlocked'));
		localStorage.setItem('notify', order[(order.indexOf(level()) + 1) % order.length]);
		draw();
		subscribe().catch(onError);
	};
	if (possible) {
		worker.register('sw.js').catch(() => {});
		worker.onmessage = (e) => (location.hash = e.data);
	}
	draw();
	return {
		// ready is called when the stream begins.
		ready(up) {
			if (user) return;
			({ user, push: canPush } = up);
			if (level() !== 'off') subscribe().catch(onError);
		},
		// message notifies of a new message in a chat of the person.
		async message(m) {
			if (m.from !== 'bot' || m.silent || m.kind === 'progress' || m.owner !== user || !document.hidden || pushed || level() === 'off') return;
			const title = document.querySelector(`#chats [href="#/c/${m.chat}"] .name`)?.textContent || $('bot').textContent;
			(await worker.ready).showNotification(title, { body: level() === 'text' ? m.text.slice(0, 240) : '', tag: m.chat, icon: 'icon-192.png', data: m.chat });
		},
		// forget ends notifications, because the person signs out.
		forget() {
			localStorage.removeItem('notify');
			return cancel().catch(() => {});
		},
	};
}
