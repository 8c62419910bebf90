import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { operate } from '../../app/operate.ts';
import { isEngineError } from '../../core/errors.ts';
import { tempFolder } from '../../store/conformance/kit/temp-folder.ts';
import type { EngineOperator } from '../engine-operator.ts';
import { addDazflowFile } from './dazflow.ts';
import { carryOut, type Outcome, planSettings, settingsOfAll } from './plan.ts';
import { type Settings, SettingsReader } from './settings-file.ts';

const folder = tempFolder('settings-file');
let stores = 0;

async function scene(t: TestContext): Promise<EngineOperator> {
  stores += 1;
  const operator = await operate({ store: `sqlite:${join(folder, `${stores}.db`)}`, create: true });
  t.after(() => operator.close());
  return operator;
}

function read(value: unknown): Settings {
  const reader = new SettingsReader();
  reader.add('all.yml', value);
  return reader.read();
}

async function apply(operator: EngineOperator, settings: Settings, prune = false): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  for await (const one of carryOut(operator, await planSettings(operator, settings, { prune }), 'me'))
    outcomes.push(one);
  return outcomes;
}

const planned = async (operator: EngineOperator, settings: Settings, prune = false) =>
  (await planSettings(operator, settings, { prune })).steps.map(
    ({ does, kind, name, fields }) => `${does} ${kind} ${name}${does === 'change' ? JSON.stringify(fields) : ''}`,
  );

/** What is there, as a file says it. */
async function exported(operator: EngineOperator): Promise<Settings> {
  const reader = new SettingsReader();
  for (const [word, things] of await settingsOfAll(operator, [])) {
    reader.addKind('export', word, JSON.parse(JSON.stringify(Object.fromEntries(things))));
  }
  return reader.read();
}

const GRAPH = { nodes: { a: { typeId: 'start' }, b: { typeId: 'x/y', data: { n: 1 } } }, connections: [] };
const ALL = {
  tags: ['gpu', 'region=eu'],
  limits: { openai: { concurrent: 8, rate: { max: 100, window: '1m' } }, one: { limit: 1, strategy: 'refuse' } },
  queues: { papers: { paused: true }, mail: {} },
  workers: {
    box: {
      tags: ['gpu', 'arm'],
      priority: 3,
      handlers: ['b', 'a'],
      queues: ['papers'],
      slots: 4,
      permissions: { handlers: ['x*'] },
    },
    off: { enabled: false, handlers: 'any' },
    plain: {},
  },
  pools: {
    fleet: { queues: ['papers'], policy: { max: 5, idleMs: '2m', targetWaitMs: '10s' }, worker: { tags: ['gpu'] } },
  },
  workflows: { nightly: { workflow: GRAPH, enabled: false } },
  schedules: {
    clean: { queue: 'mail', daily: '03:30', timezone: 'Europe/Berlin', input: { deep: true }, retry: { baseMs: '5s' } },
    often: {
      queue: 'papers',
      handler: 'read',
      every: '90s',
      paused: true,
      placement: { requires: ['gpu'], credentials: ['openai'] },
      limits: ['openai'],
      fairness: 'a',
      timeout: '5m',
      missed: 'all',
    },
  },
  triggers: {
    done: { kind: 'event', on: 'task_finished', queues: ['papers'], push: { queue: 'mail' } },
    hook: { kind: 'webhook', secret: { env: 'LEASEHOLD_HOOK_A' }, push: { queue: 'mail' }, enabled: false },
  },
} as const;

test('a file makes what it names, and applied again it changes nothing', async (t) => {
  const operator = await scene(t);
  const outcomes = await apply(operator, read(ALL));
  assert.deepEqual(
    outcomes.filter(({ error }) => error !== undefined).map(({ error }) => error?.message),
    [],
  );
  assert.deepEqual(await planned(operator, read(ALL)), []);
  assert.deepEqual(await planned(operator, read(ALL), true), []);
  const { workers } = operator.engine;
  assert.deepEqual(await workers.list(), [], 'it starts nobody');
  const settings = (await operator.call('listWorkers')).settings;
  assert.deepEqual(
    settings.map(({ name, enabled, tags }) => [name, enabled, tags]),
    [
      ['box', true, ['arm', 'gpu']],
      ['off', false, []],
    ],
  );
  assert.equal((await operator.call('getSchedule', { params: { name: 'often' } })).state, 'paused');
});

test('what is exported and applied again is no change, and makes the same elsewhere', async (t) => {
  const [operator, other] = [await scene(t), await scene(t)];
  await apply(operator, read(ALL));
  const file = await exported(operator);
  assert.deepEqual(await planned(operator, file, true), []);
  await apply(other, file);
  assert.deepEqual(await exported(other), file);
});

test('settings of any shape survive an export, the edits of a person between them too', async (t) => {
  const operator = await scene(t);
  let seed = 7;
  const random = (n: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % n;
  };
  const some = <T>(one: T): T | undefined => (random(2) === 0 ? undefined : one);
  for (let i = 0; i < 12; i++) {
    const name = `n${random(4)}`;
    const value = JSON.parse(
      JSON.stringify({
        limits: {
          [name]: {
            concurrent: random(9),
            perKey: some(random(5)),
            rate: some({ max: 1 + random(50), window: `${1 + random(9)}s`, perKey: some(true) }),
          },
        },
        workers: {
          [name]: {
            enabled: some(false),
            priority: some(random(9) - 4),
            tags: some([`t${random(3)}`, 'a']),
            queues: some(['q']),
          },
        },
        pools: {
          [name]: {
            enabled: some(false),
            policy: some({ min: random(3), startMs: `${1 + random(5)}s` }),
            worker: some({ life: 'stay', slots: 1 + random(4) }),
          },
        },
        schedules: {
          [name]: {
            queue: 'q',
            cron: `${random(60)} 3 * * *`,
            maxAttempts: some(1 + random(5)),
            priority: some(random(3)),
            missed: some('skip'),
            paused: some(true),
          },
        },
        triggers: {
          [name]: { kind: 'manual', push: { queue: 'q', delay: some('5s') }, enabled: some(false), rate: some(5) },
        },
        queues: { [name]: { paused: some(true) } },
      }),
    );
    const outcomes = await apply(operator, read(value), random(3) === 0);
    assert.deepEqual(
      outcomes.flatMap(({ error }) => error ?? []),
      [],
    );
    assert.deepEqual(await planned(operator, read(value)), [], JSON.stringify(value));
    assert.deepEqual(await planned(operator, await exported(operator), true), []);
  }
});

test('a change names the field with its old and its new value, and keeps what the file does not name', async (t) => {
  const operator = await scene(t);
  await apply(operator, read(ALL));
  const wanted = read({ limits: { openai: { concurrent: 3 } }, workers: { box: { tags: ['gpu'] } } });
  const { steps, same } = await planSettings(operator, wanted, { prune: false });
  assert.equal(same, 0);
  assert.deepEqual(steps[0]?.fields, [
    { path: 'concurrent', from: 8, to: 3 },
    { path: 'rate', from: { burst: 10, max: 100, perKey: false, window: '1m' } },
  ]);
  await apply(operator, wanted);
  assert.deepEqual(await planned(operator, wanted), []);
  assert.equal((await operator.call('listLimits')).limits.length, 2);
  const setting = (await operator.call('listWorkers')).settings.find(({ name }) => name === 'box');
  assert.deepEqual([setting?.tags, setting?.priority, setting?.grant?.slots], [['gpu'], undefined, undefined]);
});

test('a prune removes what the file does not name, of the kinds that it names only', async (t) => {
  const operator = await scene(t);
  await apply(operator, read(ALL));
  const wanted = read({ limits: { one: ALL.limits.one }, queues: {}, schedules: null });
  assert.deepEqual(await planned(operator, wanted), []);
  assert.deepEqual(await planned(operator, wanted, true), [
    'remove schedules often',
    'remove schedules clean',
    'remove queues papers',
    'remove limits openai',
  ]);
  await apply(operator, wanted, true);
  assert.deepEqual(await planned(operator, wanted, true), []);
  assert.deepEqual((await operator.call('listQueues')).queues[0]?.paused, false);
  assert.equal((await operator.call('listPools')).pools.length, 1);
  await apply(operator, read({ tags: [] }), true);
  assert.deepEqual(
    (await operator.call('listTags')).tags.filter(({ made }) => made).map(({ tag }) => tag),
    ['gpu'],
    'gpu is used',
  );
});

test('a new worker is told the code that it joins with, and one that is known is not', async (t) => {
  const operator = await scene(t);
  const [made] = await apply(operator, read({ workers: { box: { tags: ['gpu'] } } }));
  assert.match(made?.told?.join ?? '', /LEASEHOLD_WORKER_CODE=.* leasehold worker --join/);
  const [changed] = await apply(operator, read({ workers: { box: { tags: ['gpu', 'eu'] } } }));
  assert.deepEqual([changed?.step.does, changed?.told], ['change', undefined]);
});

test('one change that fails keeps none of the others from being made', async (t) => {
  const operator = await scene(t);
  const push = { queue: 'q', limits: ['absent'] };
  const file = read({
    tags: ['gpu'],
    triggers: { bad: { kind: 'manual', push } },
    schedules: { good: { queue: 'q', every: '1m' } },
  });
  const outcomes = await apply(operator, file);
  assert.deepEqual(
    outcomes.map(({ step, error }) => [step.name, error === undefined]),
    [
      ['gpu', true],
      ['good', true],
      ['bad', false],
    ],
  );
});

test('everything that is wrong with a file is said at once, and nothing is read from it', () => {
  const wrong = {
    tagz: [],
    limits: { 'bad name': { concurrent: 1 }, a: { concurent: 3 } },
    workers: { v: { tags: ['credential:hub'] }, w: { secret: 'x' } },
    triggers: { hook: { kind: 'webhook', secret: { value: 'a text of sixteen' }, push: { queue: 'q' } } },
    schedules: { s: { queue: 'q', cron: 'never' } },
    workflows: { f: { nodes: {} } },
  };
  assert.throws(
    () => read(wrong),
    (error) => {
      assert.ok(isEngineError(error, 'INVALID_INPUT'));
      const lines = (error.hint ?? '').split('\n');
      assert.equal(lines.length, 8);
      for (const [i, said] of [
        /tagz.*tags/,
        /bad name/,
        /concurent/,
        /by holding it/,
        /secret/,
        /secret/,
        /cron/,
        /workflow/,
      ].entries())
        assert.match(lines[i] ?? '', said);
      return true;
    },
  );
  assert.throws(() => read([]), /map of kinds/);
});

test('files of dazflow are read as they stand, and what they do not say of a worker stays', async (t) => {
  const operator = await scene(t);
  await apply(operator, read({ workers: { 'gpu-worker': { slots: 3, tags: ['old'] } } }));
  const agent = { status: 'online', last_seen: '2024-01-20T10:30:00Z', secret_hash: 'abc', total_tasks: 4 };
  const reader = new SettingsReader();
  addDazflowFile(reader, 'agents.json', 'agents.json', {
    'built-in': { name: 'built-in', enabled: true, priority: 0, tags: [], ...agent },
    'gpu-worker': { name: 'gpu-worker', enabled: false, priority: 10, tags: ['gpu', 'cuda'], ...agent },
  });
  addDazflowFile(reader, 'tags.json', 'tags.json', ['gpu', 'cuda']);
  addDazflowFile(reader, 'concurrency_groups.json', 'concurrency_groups.json', { claude: { limit: 3 } });
  await apply(operator, reader.read());
  const [setting, ...more] = (await operator.call('listWorkers')).settings;
  assert.deepEqual(more, []);
  assert.deepEqual(
    [setting?.name, setting?.enabled, setting?.priority, setting?.tags, setting?.grant?.slots],
    ['gpu-worker', false, 10, ['cuda', 'gpu'], 3],
  );
  assert.equal((await operator.call('listLimits')).limits[0]?.concurrent, 3);
  assert.deepEqual(await planned(operator, reader.read(), true), []);
});

test('a registry of triggers is taken as it stands: what goes by a clock is a schedule', () => {
  const triggers = [
    { name: 'checker', type: 'cron', schedule: '*/5 * * * *', machine: 'parallelization_checker' },
    { name: 'pushed', type: 'in_loop', on: 'work_added', machine: 'job_worker' },
  ];
  const { kinds } = read({ triggers });
  assert.deepEqual(
    [[...(kinds.get('triggers') ?? [])].length, [...(kinds.get('schedules') ?? [])][0]?.[0]],
    [1, 'checker'],
  );
});
