import assert from 'node:assert/strict';
import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { shippedMachines } from '../../../src/app/machines/shipped.ts';
import { type App, open } from '../../../src/app/open.ts';
import { MACHINE_HANDLER, MACHINE_QUEUE, MACHINE_TRIES } from '../../../src/flow/machine/machine-run.ts';
import { bundleMachine } from '../../../src/worker/machine/durable/bundle.ts';
import { readMachineFile } from '../../../src/worker/machine/load-machine.ts';
import { completion, openAiServer, pieces, stream, toolCall } from '../../support/agents/openai-server.ts';
import { ROOT } from '../../support/leasehold.ts';
import { full, longer, scaled } from '../../support/scale.ts';
import { Nursery, scratch } from '../children.ts';
import { groundOf } from '../ground.ts';
import { joining } from '../joining.ts';

// Every example as a durable run, whose worker is killed after each commit in turn. Another one ends it as if nothing had happened.

interface Example {
  readonly file: string;
  readonly hooks?: string;
  readonly input?: object;
  readonly signals?: Readonly<Record<string, unknown>>;
  /** Its agents ask a model. */
  readonly model?: true;
  /** It works in a folder, a copy of which each run has: what stands there then is its effect. */
  readonly workspace?: string;
}

const FOLDER = join(ROOT, 'examples/machines');
const EXAMPLES: readonly Example[] = [
  { file: 'counter.yml', hooks: 'counter.hooks.ts' },
  { file: 'approval.yml', input: { order: 42, total: 900 }, signals: { 'approval/42': { approved: true, by: 'ann' } } },
  {
    file: 'fan-out.yml',
    hooks: 'fan-out.hooks.ts',
    input: {
      papers: [
        { id: 'b', title: 'On Bees' },
        { id: 'a', title: null },
      ],
    },
  },
  { file: 'error-recovery.yml', hooks: 'error-recovery.hooks.ts', input: { card: 'bad' } },
  { file: 'nested.yml', input: { city: 'Bergen' } },
  {
    file: 'researcher/researcher.yml',
    hooks: 'researcher/researcher.hooks.ts',
    input: { question: 'What is a lease?' },
    model: true,
  },
  {
    file: '../../machines/loop.yml',
    input: JSON.parse(readFileSync(join(ROOT, 'examples/loop/input.json'), 'utf8')) as object,
    workspace: join(ROOT, 'examples/loop'),
  },
];
const WAYS = ['sqlite', 'postgres', 'joined'] as const;

interface Ending {
  readonly output: unknown;
  readonly effects: readonly string[];
  readonly commits: number;
}

/** What a node between adds is the same for all: in the short run it stands there for one example without a model and one with. */
const JOINED: ReadonlySet<string> = new Set(['counter.yml', 'researcher/researcher.yml']);

for (const way of WAYS) {
  for (const example of EXAMPLES.filter(({ file }) => longer || way !== 'joined' || JOINED.has(file))) {
    test(`${example.file} ends alike, ${way}, whichever commit its worker dies after`, (t) =>
      everywhere(t, way, example));
  }
}

async function everywhere(t: TestContext, way: (typeof WAYS)[number], example: Example): Promise<void> {
  const { commits, ...undisturbed } = await runOnce(t, way, example, 0);
  assert.ok(commits > 0);
  const each = Array.from({ length: commits }, (_, i) => i + 1);
  const most = full ? commits : scaled(1, 6);
  // A few at the short size, others with each of them: the first commits are the most different.
  const chosen = each.filter((at) => (at + example.file.length + way.length) % Math.ceil(commits / most) === 0);
  for (const at of chosen) {
    const { output, effects } = await runOnce(t, way, example, at);
    assert.deepEqual({ output, effects }, undisturbed, `killed after commit ${at} of ${commits}`);
  }
  t.diagnostic(`${chosen.length} kills after ${commits} commits`);
}

async function runOnce(t: TestContext, way: (typeof WAYS)[number], example: Example, dieAt: number): Promise<Ending> {
  const folder = scratch(t, 'machines');
  const { url } = await groundOf(way === 'postgres' ? 'postgres' : 'sqlite', folder);
  const effects = join(folder, 'effects');
  const app = await open(url);
  t.after(() => app.close({ drainMs: 0 }));
  const address = way === 'joined' ? await joining(t, folder, url, { tags: ['loop-root=main'] }) : url;
  const root = join(folder, 'root');
  if (example.workspace !== undefined) cpSync(example.workspace, root, { recursive: true });
  const hooks = example.workspace !== undefined ? `loop=${root}` : example.hooks ? join(FOLDER, example.hooks) : '';
  const nursery = new Nursery(t, example.model === true ? { environment: await model(t, effects) } : {});
  const worker = (at: number) =>
    nursery.start(new URL('./machine-child.ts', import.meta.url), [
      way === 'joined' ? 'join' : 'store',
      address,
      FOLDER,
      hooks,
      effects,
      String(at),
    ]);
  const id = await startRun(app, example);
  let child = worker(dieAt);
  const over = app.handle(id).result();
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
  if (example.workspace !== undefined) return { ...workOf(output, join(root, 'greeting')), commits };
  return {
    output,
    effects: existsSync(effects) ? readFileSync(effects, 'utf8').trim().split('\n').sort() : [],
    commits,
  };
}

/** A phase that was cut off is done again, so that iterations may differ: what was made may not. */
function workOf(output: unknown, folder: string): Omit<Ending, 'commits'> {
  const files = readdirSync(folder).toSorted();
  return {
    output: (output as { readonly status: string }).status,
    effects: files.map((file) => `${file}: ${readFileSync(join(folder, file), 'utf8')}`),
  };
}

/** It asks for two words, and then knows; the other one shortens that. Each call is an effect, told from others by how far the talk has come. */
async function model(t: TestContext, effects: string): Promise<Readonly<Record<string, string>>> {
  const words = ['unicorn', 'lease'];
  const { baseUrl } = await openAiServer(t, (response, asked) => {
    const { model: name, messages } = asked.body;
    const told = messages.filter(({ role }) => role === 'tool').length;
    appendFileSync(effects, `${name} ${told}\n`);
    const word = words[told];
    if (name === 'gpt-5-nano') completion('{"sentence": "A lease is a right for a time."}')(response, asked);
    else if (word === undefined) stream(pieces({ content: 'A right for a time.' }), 50)(response, asked);
    else {
      const call = toolCall(word, 'look_up', { word });
      stream(pieces({ tool_calls: [{ index: 0, ...call }] }), 50)(response, asked);
    }
  });
  return { OPENAI_BASE_URL: baseUrl, OPENAI_API_KEY: 'sk-test' };
}

async function startRun(app: App, { file, input = {}, signals = {} }: Example): Promise<string> {
  const source = await readMachineFile(join(FOLDER, file));
  const { hash, text, machine } = await bundleMachine(source, { machines: await shippedMachines() });
  for (const [channel, data] of Object.entries(signals)) await app.signal(channel, data);
  const { run } = await app.engine.runs.start({
    request: {
      queue: MACHINE_QUEUE,
      handler: MACHINE_HANDLER,
      input: { definition: hash, input, executionId: 'run' },
      maxAttempts: MACHINE_TRIES,
      permissions: { channels: ['*'] },
    },
    run: { kind: 'machine', title: machine.name, name: 'run' },
    definition: { hash, kind: 'machine', body: text },
  });
  return run.id;
}
