/** One of eight that claim behind a limit of three: by a count in the claim itself, as it is often written, or through the engine. */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { openNode } from '../../src/app/node.ts';
import { hear, leave, say } from './parent.ts';

const [kind, url, total] = process.argv.slice(2) as ['naive' | 'engine', string, string];

/** What a task is held for: long enough for others to claim meanwhile. */
const HELD_MS = 3;

await (kind === 'naive' ? naive() : throughEngine());

async function naive(): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  say({ word: 'ready' });
  await hear('go');
  for (;;) {
    const { rows } = await client.query<{ id: number }>(
      `UPDATE naive SET state = 1 WHERE id = (SELECT id FROM naive
        WHERE state = 0 AND (SELECT count(*) FROM naive WHERE state = 1) < 3
        ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id`,
    );
    const [row] = rows;
    if (row !== undefined) {
      await pause(HELD_MS);
      await client.query('UPDATE naive SET state = 2 WHERE id = $1', [row.id]);
      continue;
    }
    const left = await client.query('SELECT 1 FROM naive WHERE state < 2 LIMIT 1');
    if (left.rows.length === 0) break;
    await pause(1);
  }
  await client.end();
  leave({ word: 'done' });
}

async function throughEngine(): Promise<void> {
  const node = await openNode(url);
  const { engine } = node;
  const worker = await engine.workers.register({ name: 'claimer', incarnation: randomUUID(), slots: 2 });
  say({ word: 'ready' });
  await hear('go');
  const claim = async (): Promise<void> => {
    while ((await engine.stats('limited')).completed < Number(total)) {
      const grants = await engine.claim({ worker, max: 2, queues: ['limited'], waitMs: 200 });
      await pause(HELD_MS);
      await Promise.all(grants.map((grant) => engine.complete(grant)));
    }
  };
  await Promise.all([claim(), claim()]);
  await node.close();
  leave({ word: 'done' });
}
