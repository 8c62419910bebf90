import type { Log } from '../../../src/engine/log.ts';
import { Notes, now } from './farm-notes.ts';

/** Writes down what a process of the farm has to complain about, without the names of tasks. */
export function warningsOf(folder: string): Log {
  const notes = new Notes(folder, 'warnings');
  const warn: Log['warn'] = (message, fields = {}) => {
    const duty = typeof fields['duty'] === 'string' ? ` (${fields['duty']})` : '';
    const error = typeof fields['error'] === 'string' ? `: ${fields['error']}` : '';
    const what = `${message}${duty}${error}`
      .replaceAll(/[0-9a-f]+(?:-[0-9a-f]+){2,}|task_\w+|\d{3,}/g, '…')
      .slice(0, 160);
    notes.write({ note: 'warned', pid: process.pid, what, at: now() });
  };
  return { info: () => {}, warn, error: warn };
}
