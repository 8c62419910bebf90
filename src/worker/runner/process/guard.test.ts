import assert from 'node:assert/strict';
import { fork, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { Guard } from './guard.ts';
import { environmentOf } from './process-table.ts';
import { eventually, isAlive, moduleOf, processesOf } from './process-trial.test.ts';
import { signal } from './sweep.ts';

const PATH = '/usr/local/bin:/usr/bin:/bin';

async function guardOf(
  t: TestContext,
  incarnation: string = randomUUID(),
): Promise<{ guard: Guard; incarnation: string; warnings: string[] }> {
  const warnings: string[] = [];
  const guard = new Guard({ incarnation, path: PATH, warn: (message) => warnings.push(message) });
  t.after(() => guard.close());
  await guard.start();
  return { guard, incarnation, warnings };
}

/** A process that leads a group and ignores SIGTERM. */
async function leader(t: TestContext, env: Readonly<Record<string, string>> = {}): Promise<number> {
  const child = spawn('sh', ['-c', 'trap "" TERM; echo on; sleep 1000; :'], { env: { PATH, ...env }, detached: true });
  t.after(() => signal(-(child.pid ?? 0), 'SIGKILL'));
  await once(child.stdout, 'data');
  return child.pid ?? 0;
}

test('the guard ends the groups that it knows and leaves those that are gone', async (t) => {
  const { guard } = await guardOf(t);
  const [kept, forgotten, stranger] = [await leader(t), await leader(t), await leader(t)];
  for (const group of [kept, forgotten]) guard.watch(group);
  guard.forget(forgotten);
  await guard.close();
  await eventually(() => !isAlive(kept), 'the group has ended');
  assert.deepEqual([forgotten, stranger].map(isAlive), [true, true]);
});

test('the guard ends whoever bears the whole mark, and nobody else', async (t) => {
  const incarnation = randomUUID();
  const { guard } = await guardOf(t, incarnation);
  const ours = await leader(t, { LEASEHOLD_WORKER: incarnation });
  const others = [
    await leader(t, { LEASEHOLD_WORKER: `${incarnation}0` }),
    await leader(t, { NOT_LEASEHOLD_WORKER: incarnation }),
    await leader(t, { TEXT: `\nLEASEHOLD_WORKER=${incarnation}\n` }),
  ];
  await guard.close();
  await eventually(() => !isAlive(ours), 'it has ended');
  assert.deepEqual(others.filter(isAlive), others);
});

test('the guard ends who descends from a group, though it left with a session of its own and an empty environment', async (t) => {
  const { guard } = await guardOf(t);
  const mark = `4${Math.floor(Math.random() * 1e8)}`;
  const child = spawn('sh', ['-c', `setsid env -i sleep ${mark} & echo on; sleep 1000; :`], {
    env: { PATH },
    detached: true,
  });
  t.after(() => signal(-(child.pid ?? 0), 'SIGKILL'));
  await once(child.stdout, 'data');
  const sleepers = (): readonly number[] =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => commandOf(pid) === `sleep\0${mark}\0`)
      .map(Number);
  await eventually(() => sleepers().length === 1, 'it sleeps');
  const [sleeper = 0] = sleepers();
  t.after(() => signal(sleeper, 'SIGKILL'));
  guard.watch(child.pid ?? 0);
  await guard.close();
  await eventually(() => !isAlive(sleeper), 'it has ended');
});

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

test('a guard with nothing to end is gone when it is closed', async (t) => {
  const { guard, incarnation, warnings } = await guardOf(t);
  const [pid = 0] = guardsOf(incarnation);
  assert.equal(isAlive(pid), true);
  assert.equal(
    environmentOf(pid)?.some((entry) => entry.startsWith('LEASEHOLD')),
    false,
  );
  await guard.close();
  assert.equal(isAlive(pid), false);
  assert.deepEqual(warnings, []);
});

test('a guard that is ended is replaced by one that knows the same groups', async (t) => {
  const { guard, incarnation, warnings } = await guardOf(t);
  const group = await leader(t);
  guard.watch(group);
  const [first = 0] = guardsOf(incarnation);
  process.kill(first, 'SIGTERM');
  process.kill(first, 'SIGKILL');
  await eventually(() => guardsOf(incarnation).some((pid) => pid !== first), 'there is another guard');
  assert.equal(warnings.length, 1);
  await guard.close();
  await eventually(() => !isAlive(group), 'the group has ended');
});

/** A worker process that runs one task which has started everything that is hard to end, and tells all pids. */
const HANDLERS = `
  const start = (command, options) => new Promise((resolve) => {
    const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'ignore'], ...options });
    child.stdout.once('data', (text) => resolve([child.pid, ...String(text).trim().split(/\\s+/).map(Number)]));
  });
  export default task('family', { run: async () => {
    const ignoring = await start('trap "" TERM HUP; sleep 1000 & echo $!; wait');
    const apart = await start('(setsid sh -c "trap \\\\"\\\\" TERM HUP; echo \\\\$\\\\$; sleep 1000; :" &); sleep 1000; :');
    const grouped = await start('echo $$; sleep 1000; :', { detached: true, env: {} });
    reportGroup(grouped[0]);
    console.log(JSON.stringify([process.pid, ...ignoring, ...apart, ...grouped]));
    // Blocked, it does not even see that its worker is gone.
    setTimeout(() => { for (;;); }, 50);
    return new Promise(() => {});
  } });
`;

test('nothing is left of a worker that is killed with SIGKILL', async (t) => {
  const incarnation = randomUUID();
  const worker = moduleOf(`
    import { ProcessRunner } from ${JSON.stringify(new URL('./process-runner.ts', import.meta.url).href)};
    const runner = new ProcessRunner({ modules: [${JSON.stringify(moduleOf(HANDLERS))}], slots: 2, incarnation: '${incarnation}', env: { PATH: '${PATH}' } });
    await runner.start();
    const request = { task: 1, attempt: 1, id: 't', queue: 'q', handler: 'family', payload: 'null', tries: 1, maxTries: 1, alone: false };
    runner.run(request, { line: (_, text) => process.send(text), progress: () => {} });
  `);
  const child = fork(worker, [], { env: { PATH }, execArgv: [] });
  t.after(() => child.kill('SIGKILL'));
  const [text] = (await once(child, 'message')) as [string];
  const pids = JSON.parse(text) as number[];
  assert.ok(pids.length >= 7 && pids.every(isAlive), `they run: ${text}`);
  const guards = guardsOf(incarnation);
  assert.equal(guards.length, 1);
  child.kill('SIGKILL');
  const left = (): readonly number[] => [...pids, ...processesOf(incarnation), ...guards].filter(isAlive);
  await eventually(() => left().length === 0, 'nobody is left');
});

/** By its command line: it bears no mark. */
function guardsOf(incarnation: string): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return line.includes('leasehold-guard') && line.includes(`LEASEHOLD_WORKER=${incarnation}`);
      } catch {
        return false;
      }
    });
}
