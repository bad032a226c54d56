// What the list of turns and the details of one turn share: how a turn ended, and its chat.
import { h } from './dom.js';

// outcomes are the states of turns and deliveries, with their colours.
export const outcomes = {
	pending: ['Waiting', 'warn'], running: ['Running', 'good'], done: ['Done', 'good'], failed: ['Failed', 'bad'], timeout: ['Timed out', 'bad'], stopped: ['Stopped', ''], refused: ['Refused', ''], silent: ['No answer', 'warn'],
	interrupted: ['Interrupted', 'bad'], dead: ['Dropped', ''], unknown: ['Unknown', 'warn'], revoked: ['Stopped', ''],
};

// outcome is the status of a finished turn, or the state of another. Other statuses are reasons why a message got no turn.
/** @param {Turn} t */
export const outcome = (t) => (t.state !== 'done' ? t.state : outcomes[t.status] ? t.status : 'done');
export const badge = (state) => h('span.badge ' + outcomes[state][1], outcomes[state][0]);

// chatName is the title of a turn's chat with its network, or the chat's ID.
/** @param {Turn} t */
export const chatName = (t) => (t.title ? `${t.title} · ${t.chat.split(':')[0]}` : t.chat);
