/** A node as it looks on a working day: something on every screen, and the same each time. */
import { news } from './graphs.ts';
import type { House } from './house.ts';
import { leaveBehind } from './left-behind.ts';
import { pngOf } from './png.ts';

export interface Furniture {
  /** Ids of tasks that are worth a look. */
  readonly running: string;
  readonly failed: string;
  readonly waiting: string;
  readonly graph: string;
  readonly approval: string;
  readonly done: string;
  readonly news: string;
  /** A task that has left artifacts behind, and one of these. */
  readonly reporter: string;
  readonly artifact: string;
}

export async function furnish(house: House): Promise<Furniture> {
  const push = house.push.bind(house);
  // First: what the tests look for is among the newest tasks.
  await furnishPools(house);
  await furnishTriggers(house);
  await house.call('createLimit', { body: { name: 'claude', concurrent: 2, rate: { max: 30, window: '1m' } } });
  await house.call('editLimit', { params: { name: 'claude' }, body: { concurrent: 3 } });
  await house.call('createLimit', { body: { name: '3d-printer', concurrent: 1 } });
  await house.call('createLimit', { body: { name: 'customer', perKey: 1, concurrent: 10 } });
  await house.call('createWorker', { body: { name: 'docker-runner', tags: ['docker'], code: true } });
  await house.call('editWorker', { params: { name: 'docker-runner' }, body: { enabled: false, priority: 5 } });
  await house.hire('gpu-box', { tags: ['gpu', 'memory_gb=64'], slots: 4 });

  await furnishCredentials(house);
  const left = await furnishArtifacts(house);

  const words = ['dance', 'honey', 'wax', 'swarm', 'comb'];
  for (const [i, about] of [...words, ...words, ...words].entries())
    await push({ queue: 'summaries', handler: 'echo', input: { about, chapter: i + 1 } });
  const done = await push({ queue: 'papers', handler: 'analyse', input: { paper: 'https://example.org/bees.pdf' } });
  const failing = [];
  for (let i = 0; i < 12; i++)
    failing.push(
      await push({
        queue: 'crawl',
        handler: 'echo',
        input: { fail: `fetch https://example.org/page/${i} answered 503`, page: i },
        maxAttempts: 1,
      }),
    );
  const failed = await push({
    queue: 'builds',
    handler: 'shell',
    input: { command: 'printf "\\033[32mcompiling\\033[0m hive.c\\n\\033[31merror:\\033[0m no space left\\n"; exit 3' },
    maxAttempts: 2,
    retry: { baseMs: 100, maxMs: 100 },
  });
  for (const id of [...failing, failed]) await house.becomes(id, 'failed');

  await house.call('pauseQueue', { params: { queue: 'mail' } });
  const { tasks } = await house.call('pushGraph', {
    body: {
      tasks: [
        { name: 'fetch', queue: 'web', handler: 'echo', input: { url: 'https://example.org' } },
        { name: 'parse', queue: 'cpu', handler: 'echo', after: ['fetch'], input: { pages: 12 } },
        { name: 'images', queue: 'cpu', handler: 'echo', after: ['fetch'], input: { delay_ms: 3_600_000 } },
        { name: 'index', queue: 'cpu', handler: 'echo', after: ['parse', 'images'], input: {} },
        { name: 'mail', queue: 'mail', handler: 'echo', after: ['index'], input: { to: 'ada' } },
      ],
    },
  });
  for (let i = 1; i <= 9; i++)
    await push({
      queue: 'agent',
      handler: 'echo',
      input: { prompt: `Summarise chapter ${i}`, delay_ms: 3_600_000 },
      limits: ['claude'],
    });
  let waiting = '';
  for (let i = 0; i < 4; i++)
    waiting = await push({
      queue: 'train',
      handler: 'echo',
      input: { model: 'bees-7b' },
      placement: { requires: ['tpu'] },
    });
  for (let i = 1; i <= 3; i++)
    await push({ queue: 'reports', handler: 'echo', input: { day: i }, delay: `${i * 20}m`, priority: 5 });
  const approval = await push({ queue: 'publish', input: 'On bees' });
  await push({ queue: 'listen', input: 'payment:42' });
  const running = await push({ queue: 'build', input: { lines: 5_000, everyMs: 400 } });
  const { id: morning } = await house.call('startRun', { body: { graph: news(), name: 'news/monday' } });
  await house.becomes(morning, 'completed');
  const nightly = { name: 'nightly', queue: 'reports', input: { of: 'sales' }, daily: '03:00' };
  await house.call('putSchedule', { body: { ...nightly, handler: 'echo', timezone: 'Europe/Berlin' } });
  await house.call('putSchedule', { body: { name: 'poll', queue: 'feeds', input: {}, every: '15m' } });
  await house.call('pauseSchedule', { params: { name: 'poll' } });
  await house.call('saveView', { body: { name: 'Failed crawls', screen: 'tasks', query: 'state=failed&queue=crawl' } });
  await house.call('createToken', { body: { name: 'ci', role: 'operator' } });
  await house.call('createToken', { body: { name: 'grafana', role: 'read', ttl: '90d' } });
  await house.becomes(running, 'running');
  await house.becomes(approval, 'waiting');
  await house.becomes(done, 'completed');
  const graph = tasks.find(({ name }) => name === 'index')?.id as string;
  return { running, failed, waiting, graph, approval, done, news: morning, ...left };
}

/** Pools whose launchers say that they have started what they have not, and say why they have not. */
async function furnishPools(house: House): Promise<void> {
  const command = (...argv: string[]) => ({ kind: 'command', argv });
  const common = { policy: { max: 4, startMs: '2s' }, worker: { tags: ['of-a-pool'] } };
  await house.call('putPool', { body: { ...common, name: 'batch', launcher: command('echo', 'job 4711 is queued') } });
  const says = ['sh', '-c', 'echo "no space left on device" >&2; exit 1'];
  await house.call('putPool', {
    body: { ...common, name: 'cloud', queues: ['cloud', 'late'], launcher: command(...says) },
  });
  await house.call('putPool', { body: { name: 'retired', policy: { min: 1 }, enabled: false } });
  const placement = { requires: ['of-a-pool'] };
  for (const name of ['batch', 'cloud']) {
    for (let i = 0; i < 3; i++) await house.push({ queue: name, handler: 'echo', input: { page: i }, placement });
  }
  await house.until(async () => {
    const { pools } = await house.call('listPools');
    return pools.filter(({ problem }) => problem !== undefined).length === 2;
  }, 'both launchers have failed');
}

async function furnishTriggers(house: House): Promise<void> {
  const put = (body: object) => house.call('putTrigger', { body: body as never });
  await put({ name: 'paid', kind: 'webhook', push: { queue: 'orders', handler: 'echo' }, input: { source: 'shop' } });
  await put({
    name: 'on-fail',
    kind: 'event',
    on: 'task_finished',
    states: ['failed'],
    queues: ['mail'],
    push: { queue: 'alerts', handler: 'echo' },
  });
  await put({ name: 'no-pool', kind: 'manual', check: 'not-there', enabled: false });
  for (let i = 0; i < 3; i++)
    await house.call('fireTrigger', { params: { name: 'paid' }, body: { input: { order: i } } });
  await house.call('fireTrigger', { params: { name: 'no-pool' }, body: {} });
}

/** One that is held, one that its worker keeps too openly, and one for nobody yet. */
async function furnishCredentials(house: House): Promise<void> {
  const set = (body: object) => house.call('setCredential', { body: body as never });
  await set({ name: 'github', value: 'a-token-of-nobody', workers: ['gpu-box'], tags: ['docker'] });
  await set({
    name: 'payroll',
    fields: { user: 'ada', password: 'nothing' },
    type: 'postgres',
    workers: ['gpu-box'],
    level: 'systemd',
  });
  await set({ name: 'smtp', value: 'a-token-of-nobody' });
  const statusOf = async (name: string): Promise<string | undefined> =>
    (await house.call('getCredential', { params: { name } })).holders.find(({ worker }) => worker === 'gpu-box')
      ?.status;
  await house.until(async () => (await statusOf('github')) === 'stored', 'gpu-box has the credential github');
  await house.until(async () => (await statusOf('payroll')) === 'failed', 'gpu-box is refused the credential payroll');
}

/** Of several kinds, and one with a name that is long. */
async function furnishArtifacts(house: House): Promise<{ readonly reporter: string; readonly artifact: string }> {
  const lines = Array.from({ length: 400 }, (_, i) => `page ${i + 1} of 400: ${i % 7 === 0 ? 'no caption' : 'ok'}\n`);
  await leaveBehind(house, [
    { name: 'archive/build.log', type: 'text/plain', bytes: lines.join(''), kind: 'log' },
    { name: `${'deep/'.repeat(30)}${'a-long-name-'.repeat(10)}.bin`, type: 'application/octet-stream', bytes: 'x' },
    { name: 'changes.diff', type: 'text/x-diff', bytes: '--- a\n+++ b\n', kind: 'diff' },
  ]);
  const reporter = await leaveBehind(house, [
    { name: 'model/weights.safetensors', type: 'application/octet-stream', bytes: new Uint8Array(2_400_000) },
    { name: 'result.json', type: 'application/json', bytes: JSON.stringify({ pages: lines }), kind: 'result' },
    { name: 'figures/comb.png', type: 'image/png', bytes: pngOf(420, 240) },
    {
      name: 'report/summary.json',
      type: 'application/json',
      bytes: JSON.stringify({ about: 'bees', honey_kg: 12.5, figures: ['comb.png'], dances: { round: 4, waggle: 9 } }),
    },
  ]);
  const { artifacts } = await house.call('listArtifacts', { query: { name: 'report/summary.json' } });
  return { reporter, artifact: artifacts[0]?.id ?? '' };
}

/** Every screen there is, by a name for its picture. */
export function SCREENS(things: Furniture): readonly (readonly [name: string, path: string])[] {
  return [
    ['overview', '/'],
    ['tasks', '/tasks'],
    ['task', `/tasks/${things.running}`],
    ['task-failed', `/tasks/${things.failed}`],
    ['task-graph', `/tasks/${things.graph}`],
    ['task-approval', `/tasks/${things.approval}`],
    ['runs', '/runs'],
    ['run-of-a-task', `/runs/${things.done}`],
    ['run-of-a-graph', `/runs/${things.news}?node=fresh`],
    ['artifacts', '/artifacts'],
    ['artifact', `/artifacts/${things.artifact}`],
    ['task-artifacts', `/tasks/${things.reporter}`],
    ['run-artifacts', `/runs/${things.reporter}`],
    ['push', '/push?handler=shell'],
    ['queues', '/queues'],
    ['queue', '/queues/agent'],
    ['workers', '/workers'],
    ['worker', '/workers/gpu-box'],
    ['releases', '/releases'],
    ['limits', '/limits'],
    ['limit', '/limits/claude'],
    ['schedules', '/schedules'],
    ['schedule', '/schedules/nightly'],
    ['pools', '/pools'],
    ['pool-in-trouble', '/pools/batch'],
    ['triggers', '/triggers'],
    ['trigger-webhook', '/triggers/paid'],
    ['approvals', '/approvals'],
    ['failed', '/failed'],
    ['cluster', '/cluster'],
    ['credentials', '/credentials'],
    ['credential', '/credentials/github'],
    ['events', '/events'],
    ['audit', '/audit'],
    ['settings', '/settings'],
  ];
}
