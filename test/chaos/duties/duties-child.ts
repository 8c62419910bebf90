/** One of the five: tries for every duty, and writes down each write of a duty with its epoch and its answer. */
import { openSync, writeSync } from 'node:fs';
import { realWorld } from '../../../src/app/world.ts';
import { Roster } from '../../../src/engine/duties/roster.ts';
import { Engine } from '../../../src/engine/engine.ts';
import { openPostgres } from '../../../src/store/postgres/open.ts';
import type { DutyTerm, Store } from '../../../src/store/store.ts';
import { hear, say } from '../parent.ts';

const [url, name, log, termMs] = process.argv.slice(2) as [string, string, string, string];
const notes = openSync(log, 'a');
const note = (line: object): void => void writeSync(notes, `${JSON.stringify(line)}\n`);

const store = await openPostgres({ url: `${url}&pool=4&application_name=${name}`, world: realWorld() });
const first = new Set<string>();
let held: { readonly duty?: string; readonly id?: number } = {};
let calls = 0;

/** Parents that want a write which comes too late say when: it is held back after all checks of the keeper. */
process.on('message', (said) => {
  const { word, ...what } = said as { word: string; duty?: string; id?: number };
  if (word === 'hold back') held = what;
});

async function write<T>(verb: string, { name: duty, epoch }: DutyTerm, send: () => Promise<T>): Promise<T> {
  const call = ++calls;
  const { id } = held;
  const heldBack = held.duty === duty && verb !== 'dutyRenew';
  if (heldBack) {
    held = {};
    say({ word: `about ${id}`, epoch });
    await hear('go');
  }
  note({ call, verb, duty, epoch });
  try {
    const answer = await send();
    const refused = verb === 'dutyRenew' && answer === false;
    // What the server's clock said at the latest when a term began to work.
    const at = first.has(`${duty} ${epoch}`) ? undefined : (await store.clock()).calendar;
    first.add(`${duty} ${epoch}`);
    note({ call, answer: refused ? 'refused' : 'ok', at });
    if (heldBack) say({ word: `answered ${id}`, answer: 'ok' });
    return answer;
  } catch (error) {
    const answer = String((error as { code?: unknown }).code ?? error);
    note({ call, answer });
    if (heldBack) say({ word: `answered ${id}`, answer });
    throw error;
  }
}

for (const verb of [
  'taskStage',
  'taskExpire',
  'leaseReap',
  'workerReap',
  'eventNumber',
  'triggerFire',
  'taskPrune',
  'statsAudit',
  'dutyRenew',
] as const) {
  const send = store[verb].bind(store) as (params: { duty: DutyTerm }) => Promise<unknown>;
  (store[verb] as unknown) = (params: { duty: DutyTerm }) => write(verb, params.duty, () => send(params));
}
const take = store.dutyTake.bind(store);
store.dutyTake = async (params) => {
  const term = await take(params);
  if (term !== undefined) note({ took: term.name, epoch: term.epoch, at: (await store.clock()).calendar });
  return term;
};

// Lost workers are looked for ten times a second, so that the reaper writes as often as the others.
const engine = new Engine({ store: store as Store, world: realWorld(), leaseMs: Number(termMs), workerStaleMs: 600 });
const roster = new Roster({ engine, holder: name, ttlMs: Number(termMs) });
roster.start();
say({ word: 'ready' });
