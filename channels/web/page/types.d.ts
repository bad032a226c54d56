// Types of the page's scripts, for the linter. The server serves this file to nobody.

// Of the API: openapi.json describes them.
interface Button { label: string; data: string; stays?: boolean; role?: 'answer' | 'stop' }
interface Media { id: string; name: string; type: string; size: number; width?: number; height?: number; state?: 'gone' | 'changed' }
interface Message {
	id: string; chat: string; seq: number; time: string; from: 'user' | 'bot'; kind: 'message' | 'error' | 'progress';
	text: string; html?: string; media?: Media[]; buttons?: Button[]; client_id?: string;
	pressed?: string; outcome?: string; removed?: boolean; edited?: boolean; owner: string; user?: string; silent?: boolean;
}
interface Progress { id: string; chat: string; text: string; html: string; since: string; buttons: Button[]; draft?: boolean; e?: Element }
interface Chat { id: string; title: string; pinned?: boolean; updated: string }
interface Found { chat: string; title: string; seq?: number; message?: string; excerpt?: string; time: string }
interface Press { id: string; chat: string; data: string }
interface Ready { user: string; name: string; push?: boolean; missed?: boolean }
interface Frame { time: string; kind: string; level: string; text: string }
interface Part { state: string; tries: number; error?: string; queued: string; text: string; media?: string[] }
interface Turn {
	id: number; chat: string; title?: string; user: { id: string; name?: string; username?: string }; origin?: string; agent?: string; text: string;
	state: 'pending' | 'running' | 'done' | 'interrupted' | 'dead'; status?: string; attempt: number; exit_code?: number; signal?: string;
	cpu?: number; memory?: number; member?: string; elsewhere?: boolean; received: string; started?: string; ended?: string;
}
interface Details extends Turn { frames: Frame[]; parts: Part[]; missed?: number; stderr?: string; cassette?: boolean }

// Of the page.
type Shown = Partial<Message> & Partial<Progress> & { id: string; chat: string };
/** Answers a press of a button in a row. */
type Choose = (m: Shown, b: Button, row: HTMLElement) => Promise<void>;
type Failed = (e: any) => unknown;
type View<M> = (m: M, press: Choose) => HTMLElement;
type Preview = (file: File, remove?: () => void) => HTMLElement;
type Plot = (box: Element, turns: Turn[], within: any, good?: (t: Turn) => boolean) => void;
/** An unsent message. */
interface Item { id: string; chat: string; text: string; files: File[]; edits?: string; state?: 'sending' | 'waiting' | 'failed' | 'gone'; why?: string; message?: string }

// Of dom.js.
type Kid = Node | string | number | boolean | null | undefined | Kid[];
type Create<E> = (tag: string, ...kids: (Kid | Record<string, unknown>)[]) => E;
type CreateButton = (classes: string, click: (e: PointerEvent & { target: HTMLElement }) => unknown, ...kids: (Kid | Record<string, unknown>)[]) => HTMLElement;
type Update = (e: any, of: unknown, build: () => any[]) => void;
interface Find {
	<K extends keyof Named>(id: K): Named[K];
	(id: string): HTMLElement;
}

// Of dialog.js and search.js.
type Ask = (question: string, action: string, value?: string) => Promise<string | boolean>;
type MakeSearch = (onError: Failed) => void;

// Of api.js.
type ReadHistory = (chat: string, where?: string) => Promise<{ messages: Message[]; more: boolean }>;
type Send = (chat: string, item: Item, onProgress: (part: number) => void) => Promise<{ id: string }>;
type Events = { [name: string]: (data: any) => void };
type Stream = (on: Events, busy: () => boolean, state: (r: Ready | null) => void) => () => void;

// The parts of the conversation. open shows a chat.
type Submit = (text: string, files: File[], edits?: string) => void;
type MakeComposer = (submit: Submit, recall: () => string, onError: Failed) => {
	open(chat: string): void;
	edit(m: Message): void;
	menuChanged(): void;
	focus(): void;
};
type MakeChoices = (submit: (text: string) => void, onFill: () => void) => {
	open(chat: string): void;
	changed(): void;
	typed(): void;
	key(e: KeyboardEvent): boolean;
};
type MakeVoice = (send: (file: File) => void, onError: Failed) => () => void;
type MakeOutbox = (changed: (item: Item) => void) => {
	add(chat: string, text: string, files: File[], edits?: string, id?: string): void;
	of(chat: string): Item[];
	chat(): string;
	claim(chat: string): void;
	drop(id: string): void;
	retry(item?: Item): void;
};
type MakeList = (state: (chat: string) => { busy: boolean; asks: boolean }, onError: Failed) => {
	load(): Promise<Chat[]>;
	draw(): void;
	open(chat: string): void;
	newest(): string;
	changed(c: { chat?: string; id?: string; title: string; pinned: boolean }): void;
	drop(chat: string): void;
	add(m: Message): void;
};
type MakeLog = (choose: Choose, onShow: (m: Message) => void, onLoad: () => void, onGone: (chat: string) => void, onError: Failed) => {
	show(m: Message): void;
	insert(e: Element): void;
	load(before?: number): Promise<void>;
	toEnd(): void;
	drawWelcome(): void;
	open(chat: string, seq?: number): void;
	find(seq: number): Promise<void>;
	missed(): void;
	message(id: string): Message;
	close(id: string, how: Partial<Message>): void;
};
type MakeLive = (choose: Choose, asks: (chat: string) => boolean, insert: (e: Element) => void, onDraw: () => void) => {
	draw(): void;
	open(chat: string): void;
	clear(): void;
	isTyping(chat: string): boolean;
	stoppable(chat: string): Progress;
	runs(chat: string): boolean;
	busy(): boolean;
	answered(chat: string): void;
	progress(p: Progress): void;
	gone(p: { id: string; chat: string }): void;
	typing(t: { chat: string }): void;
};
type MakeNotifier = (say: (text: string) => void, onError: Failed) => {
	ready(up: Ready): void;
	message(m: Message): Promise<void>;
	forget(): Promise<void>;
};
type MakeChat = (onOpen: (id: string) => void, onError: Failed) => {
	open(id: string, wantsNew?: boolean, seq?: number): Promise<unknown>;
	connected(up: Ready): void;
	focus(): void;
	stop(): void;
	busy(): boolean;
	on: Events;
};

// What an element stands for, and what a query finds.
interface Element { message?: Message; unsent?: Item; disabled?: boolean; idle?: Node[] }
interface ParentNode { querySelectorAll(query: string): NodeListOf<HTMLElement>; querySelector(query: string): HTMLElement }

// The elements of index.html that have more than an HTMLElement.
interface Named {
	text: HTMLTextAreaElement; search: HTMLInputElement; composer: HTMLFormElement; files: HTMLInputElement; send: HTMLButtonElement; record: HTMLButtonElement; agent: HTMLSelectElement;
	'by-chat': HTMLSelectElement; 'by-outcome': HTMLSelectElement; 'usage-by': HTMLSelectElement; 'usage-last': HTMLSelectElement;
	views: HTMLElement & { children: HTMLCollectionOf<HTMLElement> };
	lightbox: HTMLDialogElement; large: HTMLImageElement; original: HTMLAnchorElement;
}
