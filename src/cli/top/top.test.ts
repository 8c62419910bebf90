import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { nodeScene } from '../../../test/support/node-scene.ts';
import { Client } from '../../client/client.ts';
import { NodePoller } from './node-poller.ts';
import type { Size } from './render/render-frame.ts';
import type { Terminal, TerminalListener } from './terminal.ts';
import { Top } from './top.ts';

const LINE = new RegExp(`\\[(\\d+);1H([^${String.fromCharCode(27)}]*)`, 'g');

/** A terminal of the test's own: keeps what stands on its screen, and types. */
class TestTerminal implements Terminal {
  readonly writes: string[] = [];
  readonly rows: string[] = [];
  screen: 'own' | 'shell' = 'shell';
  heard: TerminalListener | undefined;
  measures: Size = { columns: 100, rows: 30 };
  readonly #waiting = new Set<() => void>();

  readonly size = (): Size => this.measures;
  readonly write = (text: string): void => {
    if (text === '') return;
    this.writes.push(text);
    if (text.includes('\u001b[2J')) this.rows.length = 0;
    for (const [, row = '', line = ''] of text.matchAll(LINE)) this.rows[Number(row) - 1] = line;
    for (const look of this.#waiting) look();
  };
  enter(): void {
    this.screen = 'own';
  }
  leave(): void {
    this.screen = 'shell';
  }
  suspend(): void {
    this.screen = 'shell';
  }
  listen(heard: TerminalListener): () => void {
    this.heard = heard;
    return () => {
      this.heard = undefined;
    };
  }

  /** Types, and waits until the screen shows it. */
  async shows(pattern: RegExp, keys = ''): Promise<void> {
    const shown = Promise.withResolvers<void>();
    const look = (): void => {
      if (pattern.test(this.rows.join('\n'))) shown.resolve();
    };
    this.#waiting.add(look);
    this.heard?.typed(keys);
    look();
    await shown.promise;
    this.#waiting.delete(look);
  }
}

async function scene(t: TestContext) {
  const node = await nodeScene(t, { durability: 'normal' });
  const client = new Client({ url: node.service.address, token: node.admin });
  t.after(() => client.close());
  return { node, client };
}

async function started(t: TestContext, client: Client) {
  const terminal = new TestTerminal();
  const stop = new AbortController();
  t.after(() => stop.abort());
  const over = Top.run({
    client,
    terminal,
    out: { paint: (_format, text) => text, colours: false },
    intervalMs: 100,
    by: 'tester',
    signal: stop.signal,
  });
  over.catch(() => {});
  return { terminal, stop, over };
}

test('what is pushed is seen, what is paused by key is paused, and q gives the screen back', async (t) => {
  const { client } = await scene(t);
  const { terminal, over } = await started(t, client);
  await terminal.shows(/No queues yet/);
  assert.equal(terminal.screen, 'own');
  await client.call('pushTasks', { body: { queue: 'papers' } });
  await terminal.shows(/▸ papers +1 +0/);
  await terminal.shows(/created +○ ready/);
  await terminal.shows(/Pause queue papers\?/, 'p');
  await terminal.shows(/Paused papers: 1 ready tasks wait/, 'y');
  await terminal.shows(/papers ‖ paused/);
  assert.equal((await client.call('getQueue', { params: { queue: 'papers' } })).paused, true);
  await terminal.shows(/newest tasks[^]*task_/, '\r');
  terminal.heard?.typed('q');
  await over;
  assert.equal(terminal.screen, 'shell');
  assert.equal(terminal.heard, undefined);
});

test('the end of the terminal and a signal end it as well', async (t) => {
  const { client } = await scene(t);
  const [first, second] = await Promise.all([started(t, client), started(t, client)]);
  await Promise.all([first.terminal.shows(/5 events/), second.terminal.shows(/5 events/)]);
  first.terminal.heard?.ended();
  await first.over;
  second.stop.abort('SIGTERM');
  await second.over;
  assert.equal(first.terminal.screen, 'shell');
  assert.equal(second.terminal.screen, 'shell');
});

test('a frame is one write, and another size draws all of it anew', async (t) => {
  const { client } = await scene(t);
  const { terminal, over } = await started(t, client);
  await terminal.shows(/5 events/);
  const before = terminal.writes.length;
  terminal.measures = { columns: 60, rows: 15 };
  terminal.heard?.resized();
  assert.equal(terminal.writes.length, before + 1);
  assert.match(terminal.writes.at(-1) ?? '', /\[2J/);
  assert.equal(terminal.rows.length, 15);
  terminal.heard?.typed('\u0003');
  await over;
});

test('a node that is not there, or lets nobody in, is an error before the screen is taken', async (t) => {
  const { node } = await scene(t);
  const wrong = new Client({ url: node.service.address, token: 'wrong' });
  const { terminal, over } = await started(t, wrong);
  await assert.rejects(over, { code: 'UNAUTHENTICATED' });
  assert.equal(terminal.screen, 'shell');
  wrong.close();
});

test('of many events only the newest are asked for, none twice and none left out between two looks', async (t) => {
  const { client } = await scene(t);
  const poller = new NodePoller(client);
  const { signal } = new AbortController();
  const push = (count: number) =>
    client.call('pushTasks', { body: { tasks: Array.from({ length: count }, () => ({ queue: 'papers' })) } });
  await push(500);
  const first = (await poller.poll(signal)).events;
  assert.equal(first.length, 200);
  await push(50);
  const { events: second, queues } = await poller.poll(signal);
  const numbers = second.map(({ seq }) => seq);
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(numbers).size, 200);
  assert.equal(second[149]?.seq, first[199]?.seq);
  assert.equal(queues[0]?.ready, 550);
  assert.equal(typeof queues[0]?.oldestMs, 'number');
  assert.equal(queues[0]?.perSecond, 0);
});
