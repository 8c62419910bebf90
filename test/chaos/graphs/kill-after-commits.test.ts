import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { open } from '../../../src/app/open.ts';
import { workflow } from '../../../src/flow/graph/test-graphs.ts';
import { task } from '../../../src/worker/define/task.ts';
import { ROOT } from '../../support/leasehold.ts';
import { full, longer, scaled } from '../../support/scale.ts';
import { Nursery, scratch } from '../children.ts';
import { groundOf } from '../ground.ts';
import { joining } from '../joining.ts';

// Graphs whose worker is killed after each commit in turn. Another one ends them as if nothing had happened.

const note = (n: string, more: object = {}) => ({ typeId: 'test/note', data: { n }, ...more });
/** Fan-out over items, a fan-in of branches of different lengths, an empty branch, and a pinned node. */
const EVERYTHING = workflow(
  {
    start: { typeId: 'core/start' },
    list: { typeId: 'test/list' },
    each: note('{{ $.list }}', { kind: 'map' }),
    some: { typeId: 'core/if', kind: 'map', data: { condition: '{{ $.list > 1 }}' } },
    none: { typeId: 'core/if', data: { condition: 'false' } },
    never: note('never'),
    after: note('after {{ $.list }}', { kind: 'map' }),
    pinned: { ...note('pinned'), pinned: true, pinnedOutput: [{ pinned: 'yes' }] },
    end: note('end {{ $items.length }}'),
  },
  [
    'start>list',
    'list>each',
    'each>some',
    'each>none',
    'none>never',
    'some>after',
    'start>pinned',
    'after>end',
    'never>end',
    'pinned>end',
  ],
);
const GRAPHS: Readonly<Record<string, object | string>> = {
  everything: EVERYTHING,
  'notify.json': join(ROOT, 'examples/graphs/notify.json'),
};
const WAYS = ['sqlite', 'postgres', 'joined'] as const;

interface Ending {
  readonly output: unknown;
  readonly effects: readonly string[];
  readonly commits: number;
}

for (const way of WAYS) {
  for (const [name, graph] of Object.entries(GRAPHS)) {
    // What a node between adds is the same for both.
    if (way === 'joined' && name !== 'everything' && !longer) continue;
    test(`the graph ${name} ends alike, ${way}, whichever commit its worker dies after`, async (t) => {
      const { commits, ...undisturbed } = await runOnce(t, way, graph, 0);
      assert.ok(commits > 1);
      assert.equal(new Set(undisturbed.effects).size, undisturbed.effects.length);
      const most = full ? commits : scaled(1, 6);
      const each = Array.from({ length: commits }, (_, i) => i + 1);
      const chosen = each.filter((at) => (at + way.length + name.length) % Math.ceil(commits / most) === 0);
      for (const at of chosen) {
        const { output, effects } = await runOnce(t, way, graph, at);
        assert.deepEqual({ output, effects }, undisturbed, `killed after commit ${at} of ${commits}`);
      }
      t.diagnostic(`${chosen.length} kills after ${commits} commits, ${undisturbed.effects.length} effects`);
    });
  }
}

async function runOnce(
  t: TestContext,
  way: (typeof WAYS)[number],
  graph: object | string,
  dieAt: number,
): Promise<Ending> {
  const folder = scratch(t, 'graphs');
  const { url } = await groundOf(way === 'postgres' ? 'postgres' : 'sqlite', folder);
  const effects = join(folder, 'effects');
  const app = await open(url);
  t.after(() => app.close({ drainMs: 0 }));
  // What the nodes do is done by another worker: each task that was born runs once, whatever becomes of the run.
  await app.worker({ tasks: handlers(effects), slots: 2 }).start();
  const address = way === 'joined' ? await joining(t, folder, url) : url;
  const nursery = new Nursery(t, {});
  const worker = (at: number) =>
    nursery.start(new URL('./graph-child.ts', import.meta.url), [
      way === 'joined' ? 'join' : 'store',
      address,
      effects,
      String(at),
    ]);
  const run = await app.runs.start({ graph, name: 'run', input: { name: 'Ann' } });
  let child = worker(dieAt);
  const over = app.handle(run.id).result();
  over.catch(() => {});
  if (dieAt > 0) {
    // It may die, or the run may end with less commits than an undisturbed one that waited longer.
    await Promise.race([child.ended, over]);
    if (!child.alive) {
      assert.equal(child.process.signalCode, 'SIGKILL', child.errors);
      child = worker(0);
    }
  }
  const output = await over;
  child.tell({ word: 'stop' });
  // One that died after the last commit has ended the run, and says nothing.
  const word = dieAt > 0 ? undefined : await child.hear('commits');
  const commits = Number(word?.['commits'] ?? 0);
  await child.ended;
  await app.close({ drainMs: 0 });
  return {
    output,
    effects: existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n').sort() : [],
    commits,
  };
}

/** Each notes on the disk that it has run. */
const handlers = (effects: string) =>
  ['discord/discord_send', 'test/list', 'test/note'].map((name) =>
    task(name, {
      queue: name.startsWith('test/') ? 'graphs' : 'discord',
      run: (input: { readonly n?: unknown; readonly message?: string }) => {
        if (name === 'test/list') return [1, 2, 3];
        const { n, message = `note ${String(n)}` } = input;
        appendFileSync(effects, `${message}\n`);
        return { said: message };
      },
    }),
  );
