import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { agents } from '../../../src/app/library/agents.ts';
import { type App, open } from '../../../src/app/open.ts';
import { isEngineError } from '../../../src/core/errors.ts';
import { completion, openAiServer, toolCall } from '../../support/agents/openai-server.ts';
import { full, longer, scaled } from '../../support/scale.ts';
import { Nursery, scratch } from '../children.ts';
import { groundOf } from '../ground.ts';
import { joining } from '../joining.ts';

// Runs of agents whose worker is killed: after each of its commits in turn, and in the middle of effects. Another worker goes on.

const WAYS = ['sqlite', 'postgres', 'joined'] as const;
type Way = (typeof WAYS)[number];

interface Ending {
  readonly text: unknown;
  /** `name key first|again`, in the order in which they happened. */
  readonly effects: readonly string[];
  readonly commits: number;
  readonly journal: readonly string[];
  readonly asked: number;
}

const COURIER = ['look', 'research', 'upload', 'email', 'charge'];
const TEXT = 'charge is done, from email';

/** An agent of a program, and the one of the examples, which asks a person. */
const AGENTS: Readonly<Record<string, readonly [text: string, effects: readonly string[]]>> = {
  courier: [TEXT, COURIER],
  reporter: ['shelf 4: yes', ['upload', 'publish']],
};

// What a node between adds is the same for both.
for (const [agent, expected] of Object.entries(AGENTS))
  for (const way of longer || agent === 'courier' ? WAYS : WAYS.slice(0, 2)) {
    test(`the agent ${agent} ends alike, ${way}, whichever commit its worker dies after`, async (t) => {
      const { commits, ...whole } = await runOnce(t, way, '', agent);
      assert.deepEqual([whole.text, names(whole)], expected);
      const most = full ? commits : scaled(1, 6);
      const each = Array.from({ length: commits }, (_, i) => i + 1);
      const chosen = each.filter((at) => (at + way.length) % Math.ceil(commits / most) === 0);
      for (const at of chosen) {
        const ending = await runOnce(t, way, `commit:${at}`, agent);
        assert.deepEqual([ending.text, names(ending)], expected, `killed after commit ${at} of ${commits}`);
      }
      t.diagnostic(`${chosen.length} kills after ${commits} commits`);
    });
  }

/** Where it dies, what happens then twice, and what a person is asked. Each on one of the ways, all of them on all at full length. */
const MATRIX: readonly (readonly [death: string, twice: readonly string[], asked: number])[] = [
  ['research:after', ['research'], 0],
  ['email:before', [], 0],
  ['upload:after', [], 0],
  ['charge:after', [], 1],
  ['charge:before', [], 1],
  ['look:after', ['look'], 0],
];

for (const [i, [death, twice, asked]] of MATRIX.entries()) {
  const ways = full ? WAYS : WAYS.filter((_, j) => (i + j) % WAYS.length === 0);
  for (const way of ways) {
    test(`an agent that is killed at ${death} repeats ${twice.join() || 'nothing'}, ${way}`, async (t) => {
      const ending = await runOnce(t, way, death);
      const counts = new Map<string, number>();
      for (const name of names(ending)) counts.set(name, (counts.get(name) ?? 0) + 1);
      assert.deepEqual(
        Object.fromEntries(counts),
        Object.fromEntries(COURIER.map((name) => [name, twice.includes(name) ? 2 : 1])),
      );
      assert.equal(ending.asked, asked);
      // The same effect has the same key in every attempt, and the one that was cut off is marked.
      const keys = new Set(ending.effects.map((line) => line.split(' ').slice(0, 2).join(' ')));
      assert.equal(keys.size, COURIER.length);
      for (const name of twice)
        assert.ok(ending.effects.some((line) => line.startsWith(`${name} `) && line.endsWith(' again')));
      assert.equal(ending.journal.filter((key) => /\/x:[0-9a-f]+:\d+$/.test(key)).length, 1, ending.journal.join('\n'));
      // One receipt for each effect, under one key.
      assert.equal(ending.journal.filter((key) => /\/r:/.test(key)).length, COURIER.length);
      assert.equal(new Set(ending.journal).size, ending.journal.length);
    });
  }
}

for (const way of full ? WAYS : (['sqlite'] as const)) {
  test(`a loop over an endpoint that is killed after a tool has acted does not call it again, ${way}`, async (t) => {
    const server = await openAiServer(t, (response, asked) => {
      const told = asked.body.messages.filter(({ role }) => role === 'tool').length;
      const calls = [
        toolCall('c', 'look_up', { word: 'lease' }),
        toolCall('c', 'send', { to: 'ada' }),
        toolCall('c', 'send', { to: 'ada' }),
      ];
      const call = calls[told];
      completion(call === undefined ? 'Sent.' : null, call === undefined ? {} : { calls: [call] })(response, asked);
    });
    const gateway = { type: 'llm', name: 'm', base_url: server.baseUrl, stream: false };
    const ending = await runOnce(t, way, 'send:after', gateway);
    assert.deepEqual([ending.text, names(ending)], ['Sent.', ['look_up', 'send']]);
    // No answer of the model was paid for twice.
    assert.equal(server.asked.length, 4);
  });
}

const names = ({ effects }: Pick<Ending, 'effects'>): readonly string[] =>
  effects.map((line) => line.split(' ')[0] ?? '');

async function runOnce(
  t: TestContext,
  way: Way,
  death: string,
  gateway: string | Readonly<Record<string, unknown>> = 'courier',
): Promise<Ending> {
  const folder = scratch(t, 'agents');
  const { url } = await groundOf(way === 'postgres' ? 'postgres' : 'sqlite', folder);
  const file = join(folder, 'effects');
  const effects = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  const app = await open(url);
  t.after(() => app.close({ drainMs: 0 }));
  const address = way === 'joined' ? await joining(t, folder, url) : url;
  const nursery = new Nursery(t, {});
  const worker = (dying: string) =>
    nursery.start(new URL('./agent-child.ts', import.meta.url), [
      way === 'joined' ? 'join' : 'store',
      address,
      file,
      dying,
    ]);
  const handle = await app.push(agents(), { gateway, prompt: 'Bring it', backoffs: [] });
  let child = worker(death);
  const over = handle.result();
  over.catch(() => {});
  const person = new Person(app, effects);
  const decided = person.decide(handle, over);
  if (death !== '') {
    await Promise.race([child.ended, over]);
    if (!child.alive) {
      assert.equal(child.process.signalCode, 'SIGKILL', child.errors);
      child = worker('');
    }
  }
  const { text } = await over;
  await decided;
  child.tell({ word: 'stop' });
  // One that died after the last commit has ended the run, and says nothing.
  const word = death === '' ? await child.hear('commits') : undefined;
  await child.ended;
  const journal = (await app.engine.journal(handle.task)).map(({ key }) => key);
  await app.close({ drainMs: 0 });
  return {
    text,
    effects: effects().trim().split('\n'),
    commits: Number(word?.['commits'] ?? 0),
    journal,
    asked: person.asked,
  };
}

/** A run that was killed after it was decided parks once more. */
const ignoreDecided = (error: unknown): void => assert.ok(isEngineError(error, 'CONFLICT'), String(error));

/** Looks whether it has happened, and says so. */
class Person {
  readonly #app: App;
  readonly #effects: () => string;
  asked = 0;

  constructor(app: App, effects: () => string) {
    this.#app = app;
    this.#effects = effects;
  }

  async decide(
    handle: {
      readonly id: string;
      events(options: {
        readonly after: number;
        readonly signal: AbortSignal;
      }): AsyncIterable<{ readonly change: string }>;
    },
    over: Promise<unknown>,
  ): Promise<void> {
    const stop = new AbortController();
    over.finally(() => stop.abort()).catch(() => {});
    for await (const { change } of handle.events({ after: 0, signal: stop.signal })) {
      if (change !== 'parked') continue;
      for (const { id, title } of await this.#app.approvals()) {
        if (title === 'Publish shelf 4?') {
          await this.#app.decide(id, { action: 'yes', by: 'ada' }).catch(ignoreDecided);
          continue;
        }
        const [, effect = ''] = /^Has "(charge|upload|publish)" happened\?/.exec(title) ?? assert.fail(title);
        this.asked++;
        const isDone = this.#effects().includes(`${effect} `);
        const value = effect === 'charge' ? 'charge is done' : 'shelf 4';
        const decision = isDone ? { action: 'it has happened', value } : { action: 'do it again' };
        await this.#app.decide(id, { ...decision, by: 'ada' }).catch(ignoreDecided);
      }
    }
  }
}
