// The service worker shows what is pushed, and opens the chat of a notification. It stores nothing.
// @ts-nocheck: the types of a worker clash with those of a page.
const pages = () => clients.matchAll({ type: 'window', includeUncontrolled: true });

oninstall = () => skipWaiting();

onpush = (e) => {
	const { chat, title, text } = e.data.json();
	e.waitUntil(pages().then((all) => all.some((p) => p.visibilityState === 'visible')
		|| registration.showNotification(title, { body: text, tag: chat, icon: 'icon-192.png', data: chat })));
};

onnotificationclick = (e) => {
	const chat = '#/c/' + e.notification.data;
	e.notification.close();
	e.waitUntil(pages().then(([page]) => (page ? page.focus().then(() => page.postMessage(chat)) : clients.openWindow('./' + chat))));
};
