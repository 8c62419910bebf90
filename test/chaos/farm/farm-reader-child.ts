/** When the faults have stopped: waits until all is finished, and says through the public API what became of each task. */
import { openSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { open } from '../../../src/app/open.ts';
import { leave } from '../parent.ts';
import type { Final } from './farm-evidence.ts';
import { now } from './farm-notes.ts';

const [url, file, patienceMs] = process.argv.slice(2) as [string, string, string];
const out = openSync(file, 'w');
const app = await open(url, { duties: false });
const { engine } = app;
const began = now();

async function unfinished(): Promise<number> {
  const counts = (await app.queues()).flatMap(({ stats }) => [
    stats.ready,
    stats.running,
    stats.scheduled,
    stats.waiting,
  ]);
  return counts.reduce((sum, count) => sum + count, 0);
}

async function tell(queue: string): Promise<void> {
  for (let before: number | undefined; ; ) {
    const page = await engine.list({ queue, limit: 500, ...(before === undefined ? {} : { before }) });
    for (const record of page) {
      const { task, handler, state, reason, attempt, tries, maxTries, payload, result } = record;
      // One attempt that ended its task leaves nothing to ask for.
      const simple = attempt === 1 && state === 'completed';
      const attempts = simple ? [] : await engine.attempts(task);
      const lines = handler === 'chatty' ? await engine.logs.read(task, { limit: 1000 }) : [];
      const log = lines.filter((line) => line.stream === 'log' && line.attempt === attempt).map(({ text }) => text);
      const final: Final = {
        id: engine.idOf(record),
        task,
        queue,
        handler,
        state,
        reason,
        attempt,
        tries,
        maxTries,
        payload,
        result,
        log,
        attempts: attempts.map(({ attempt: number, outcome, error }) => ({ attempt: number, outcome, error })),
      };
      writeSync(out, `${JSON.stringify(final)}\n`);
    }
    before = page.at(-1)?.task;
    if (before === undefined || page.length < 500) return;
  }
}

while ((await unfinished()) > 0 && now() - began < Number(patienceMs)) await pause(50);
const queues = await app.queues();
for (const { name } of queues) await tell(name);
await app.close();
leave({ word: 'read', queues: queues.map(({ name, stats }) => ({ name, stats })) });
