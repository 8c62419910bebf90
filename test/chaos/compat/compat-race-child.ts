/** One of the eight: a backend of its own that claims items one by one until it hears that there is none. */
import { openSync, writeSync } from 'node:fs';
import { type BackendConfig, createWorkBackend } from '../../../src/compat/index.ts';
import { hear, leave, say } from '../parent.ts';

const [config, history, worker] = process.argv.slice(2) as [string, string, string];
const backend = await createWorkBackend(JSON.parse(config) as BackendConfig);
const notes = openSync(history, 'a');
const pool = backend.pool('race');
const note = (line: unknown): void => void writeSync(notes, `${JSON.stringify(line)}\n`);

say({ word: 'ready' });
await hear('go');
for (;;) {
  const item = await pool.claim(worker);
  if (item === null) break;
  note({ claimed: item.id, data: item.data, attempts: item.attempts });
  // Some fail once, so that there are second claims to race for.
  const fails = item.attempts === 1 && Number(item.id) % 50 === 0;
  await (fails ? pool.fail(item.id, 'once') : pool.complete(item.id, { by: worker }));
  note({ settled: item.id, as: fails ? 'failed' : 'completed' });
}
await backend.close();
leave({ word: 'done' });
