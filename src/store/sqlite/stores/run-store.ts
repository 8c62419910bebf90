import type { RunStore } from '../../store.ts';
import { findRun, getDefinition, getRun, listRuns, noteCancel, pushRun, putDefinitions } from '../verbs/trees/run.ts';
import type { StoreParts } from './store-parts.ts';

export function runStore({ calls, writer }: StoreParts): RunStore {
  return {
    definitionPut: ({ items }) => writer.write('rest', (tx) => putDefinitions(tx, items)),
    definitionGet: ({ hash }) => writer.read(({ sql }) => getDefinition(sql, hash)),
    // A limit may end other tasks for the new one, and wake what waits for them.
    runPush: ({ runs }) => calls.waking('push', (tx) => runs.map((run) => pushRun(tx, run))),
    runGet: ({ tasks }) => writer.read(({ sql }) => tasks.map((task) => getRun(sql, task))),
    runFind: ({ name }) => writer.read(({ sql }) => findRun(sql, name)),
    runList: (query) => writer.read(({ sql }) => listRuns(sql, query)),
    runNoteCancel: (note) => writer.write('rest', (tx) => noteCancel(tx, note)),
  };
}
