import { EngineError, isEngineError } from '../../src/core/errors.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { putTrigger } from '../../src/engine/triggers.ts';
import type { Grant } from '../../src/store/store.ts';
import type { Status } from './history.ts';
import { SETTLED_MS } from './plan.ts';
import type { SimProcess } from './process.ts';
import type { Run } from './run.ts';
import { NATURE, type Owner } from './scheduler.ts';

/** How long a client waits for an answer. */
const PATIENCE_MS = 2000;
const QUEUES = ['alpha', 'beta'] as const;
const HANDLERS = ['one', 'two'] as const;
const RETRY = { baseMs: 100, factor: 2, maxMs: 1000, jitter: 0.5 };

/** A call that nobody answers in time has an unknown outcome, and so has one that ends in a fault of the world. */
async function outcome<T>(run: Run, owner: Owner, call: Promise<T>): Promise<{ status: Status; value?: T }> {
  const late = new Promise<{ status: Status }>((resolve) => {
    run.scheduler.in(PATIENCE_MS, owner, () => resolve({ status: 'unknown' }));
  });
  const answer = call.then(
    (value) => ({ status: 'ok' as const, value }),
    (error: unknown) => {
      if (!(error instanceof EngineError)) throw error;
      return { status: error.retryable ? ('unknown' as const) : ('refused' as const) };
    },
  );
  return Promise.race([answer, late]);
}

function sleep(run: Run, owner: Owner, ms: number): Promise<void> {
  return new Promise((resolve) => void run.scheduler.in(ms, owner, resolve));
}

// Workers

/** Lives and dies with its process: claims, runs handlers, renews or forgets to, and says how it ended. */
export async function work(run: Run, process: SimProcess): Promise<void> {
  const { rng } = run;
  const { engine } = process;
  let registrations = 0;
  const register = async (): Promise<number> => {
    for (;;) {
      const name = `${process.name}-${registrations++}`;
      const { value } = await outcome(run, process, engine.registerWorker({ name, incarnation: name, slots: 4 }));
      if (value !== undefined) return value;
    }
  };
  let worker = await register();
  for (let n = 0; ; n++) {
    // One that was silent for so long that it was forgotten is told so, and begins anew.
    if (rng.chance(0.3) && (await outcome(run, process, engine.beat({ worker }))).value === false)
      worker = await register();
    if (rng.chance(0.2)) await outcome(run, process, engine.cancelRequests(worker));
    const claim = `${process.name}/${n}`;
    const op = rng.chance(0.4) ? claim : undefined;
    const queues = rng.chance(0.3) ? [rng.pick(QUEUES), 'cron'] : undefined;
    const options = {
      worker,
      max: rng.int(1, 4),
      waitMs: rng.int(0, 400),
      ...(op === undefined ? {} : { op }),
      ...(queues ? { queues } : {}),
    };
    const some = rng.chance(0.2) ? run.model.unfinished() : [];
    const one =
      some.length > 0 ? { worker, max: 1, task: rng.pick(some), ...(op === undefined ? {} : { op }) } : undefined;
    let claimed = await outcome(run, process, engine.claim(one ?? options));
    // The answer may have been lost after the grant: the same operation id asks for it again.
    if (claimed.status === 'unknown' && op !== undefined)
      claimed = await outcome(run, process, engine.claim(one ?? options));
    for (const grant of claimed.value ?? []) {
      run.history.add({ kind: 'grant', task: grant.task, attempt: grant.attempt, claim });
      void run.guardAsync(perform(run, process, grant));
    }
    await sleep(run, process, rng.int(1, 150));
  }
}

async function perform(run: Run, process: SimProcess, grant: Grant): Promise<void> {
  const { rng, plan, faults } = run;
  if (rng.chance(faults.abandon)) return;
  const poison = (JSON.parse(grant.payload) as { poison?: boolean }).poison === true;
  if (poison && !run.healed && rng.chance(0.7) && run.crash(process, `poisoned by ${grant.task}`)) return;
  const renews = rng.chance(0.7) || run.healed;
  let lines = 0;
  for (let left = rng.int(0, plan.leaseMs * (run.healed ? 0.5 : 2)); left > 0; ) {
    const nap = Math.min(left, Math.ceil(plan.leaseMs / 3));
    await sleep(run, process, nap);
    left -= nap;
    if (rng.chance(0.4)) {
      const line = { seq: ++lines, at: run.scheduler.wall, stream: 'log', text: process.name } as const;
      await outcome(run, process, process.engine.appendLog(grant, [line]));
    }
    if (!renews) continue;
    const renewed = await outcome(run, process, process.engine.renew(grant));
    if (renewed.value?.held === false) return;
    if (renewed.value?.held && renewed.value.cancelRequested && rng.chance(0.7)) {
      await settle(run, process, grant, 'cancelled');
      return;
    }
  }
  await settle(run, process, grant, run.healed ? 'completed' : rng.pick(ENDINGS));
}

const ENDINGS = [
  'completed',
  'completed',
  'completed',
  'fail',
  'fail',
  'giveUp',
  'later',
  'release',
  'bounce',
] as const;
type Ending = (typeof ENDINGS)[number] | 'cancelled';

/** Says it again while no answer comes: the fence makes that harmless. */
async function settle(run: Run, process: SimProcess, grant: Grant, ending: Ending): Promise<void> {
  const { task, attempt } = grant;
  const result = JSON.stringify({ by: process.name, attempt });
  // Half of the callers kept only (task, attempt), as a remote worker would.
  const lease = run.rng.chance(0.5) ? grant : { task, attempt };
  for (let i = 0; i < 4; i++) {
    const { status, value } = await outcome(run, process, say(process.engine, lease, ending, JSON.parse(result)));
    const to =
      ending === 'completed'
        ? 'completed'
        : ending === 'cancelled' || value === 'cancelled'
          ? 'cancelled'
          : value === 'failed'
            ? 'failed'
            : 'again';
    run.history.add({ kind: 'settle', task, attempt, to, result, status });
    if (status !== 'unknown') return;
  }
}

async function say(
  engine: Engine,
  lease: Parameters<Engine['fail']>[0],
  ending: Ending,
  result: unknown,
): Promise<string | undefined> {
  switch (ending) {
    case 'completed':
      await engine.complete(lease, result);
      return undefined;
    case 'cancelled':
      await engine.cancelled(lease);
      return undefined;
    case 'fail':
      return engine.fail(lease, { message: 'simulated' });
    case 'giveUp':
      return engine.fail(lease, { message: 'simulated' }, { giveUp: true });
    case 'later':
      return engine.fail(lease, { message: 'later' }, { retryAfterMs: 200 });
    case 'release':
      return engine.release(lease);
    case 'bounce':
      return engine.release(lease, { bounced: true, delayMs: 50 });
  }
}

// Clients

/** Outlives the processes it talks to; keeps its operation ids, so that it can ask again. */
export async function useIt(run: Run, name: string): Promise<void> {
  const me: Owner = { name, alive: true, frozenUntil: 0 };
  const { rng } = run;
  const pushed: number[] = [];
  for (let n = 0; !run.healed; n++) {
    const engine = run.anyProcess().engine;
    // Mostly a young one, which is likely to be running.
    const task = pushed.length > 0 ? rng.pick(rng.chance(0.7) ? pushed.slice(-5) : pushed) : undefined;
    switch (rng.pick(DOINGS)) {
      case 'push':
        await push(run, me, `${name}/${n}`, pushed);
        break;
      case 'cancel':
        if (task !== undefined) {
          const { status, value } = await outcome(run, me, engine.cancel(task));
          run.history.add({ kind: 'cancel', task, answer: value, status });
        }
        break;
      case 'revive':
        if (task !== undefined) {
          run.history.add({ kind: 'revive', task, status: 'unknown' });
          await outcome(run, me, engine.retry(task));
        }
        break;
      case 'pause': {
        const queue = rng.pick(QUEUES);
        await outcome(run, me, engine.pause(queue));
        if ((await outcome(run, me, engine.stats(queue))).value?.ready)
          run.gates.reach('queue paused with work waiting');
        await sleep(run, me, rng.int(50, 800));
        await outcome(run, me, run.anyProcess().engine.resume(queue));
        break;
      }
      case 'housekeep':
        await outcome(
          run,
          me,
          run
            .anyProcess()
            .roster.tick(rng.pick(['pruner', 'auditor', 'cron', 'stager', 'reaper'] as const))
            .catch((error: unknown) => {
              if (!isEngineError(error, 'DUTY_LOST')) throw error;
            }),
        );
        break;
    }
    await sleep(run, me, rng.int(5, 250));
  }
}

const DOINGS = [...Array<'push'>(6).fill('push'), 'cancel', 'cancel', 'revive', 'pause', 'housekeep'] as const;

async function push(run: Run, me: Owner, op: string, pushed: number[]): Promise<void> {
  const { rng, plan } = run;
  const key = rng.chance(0.25) ? `key${rng.int(1, plan.keys)}` : undefined;
  const body = key === undefined ? { op, poison: rng.chance(0.06) } : { key, other: rng.chance(0.15) };
  const request = {
    queue: key === undefined ? rng.pick(QUEUES) : 'alpha',
    handler: key === undefined ? rng.pick(HANDLERS) : 'one',
    input: body,
    priority: rng.int(-1, 1),
    maxAttempts: rng.int(1, 4),
    retry: RETRY,
    op,
    // Keyed ones are told apart by their lanes in the model.
    ...(key === undefined && run.limited && rng.chance(0.35) ? { limits: [limitOf(run)] } : {}),
    ...(rng.chance(0.25) ? { delay: rng.int(1, 1500) } : {}),
    ...(rng.chance(0.15) ? { waitTimeout: rng.int(1, 2000) } : {}),
    ...(key === undefined ? {} : { unique: { key, window: Math.min(plan.retentionMs, rng.pick([500, 100_000])) } }),
  };
  for (let i = 0; i < 4; i++) {
    run.history.openPushes++;
    const { status, value } = await outcome(run, me, run.anyProcess().engine.push(request));
    run.history.openPushes--;
    run.history.add({ kind: 'push', op, key, input: JSON.stringify(body), status, task: value?.task });
    if (value !== undefined) pushed.push(value.task);
    if (status !== 'unknown') return;
    await sleep(run, me, rng.int(1, 300));
  }
}

const LIMIT = 'sim';

function limitOf({ rng }: Run): { name: string; key?: string; weight: number } {
  return { name: LIMIT, weight: rng.int(1, 2), ...(rng.chance(0.6) ? { key: rng.pick(['ann', 'bob']) } : {}) };
}

/** Makes the limit that tasks take from, and changes it again and again while they do. */
export async function regulate(run: Run): Promise<void> {
  const { rng } = run;
  while (!run.healed) {
    const limit = { concurrent: rng.int(0, 5), ...(rng.chance(0.5) ? { perKey: rng.int(0, 3) } : {}) };
    const { status } = await outcome(run, NATURE, run.anyProcess().engine.setLimit(LIMIT, limit, 'the run'));
    if (status === 'ok') run.limited = true;
    await sleep(run, NATURE, rng.int(50, 1500));
  }
}

/** Follows the feed through whichever process lives, going on after the last number it saw. */
export async function readFeed(run: Run): Promise<void> {
  const me: Owner = { name: 'reader', alive: true, frozenUntil: 0 };
  let last = 0;
  let first = true;
  while (!run.over) {
    const process = run.anyProcess();
    if (!first) run.gates.reach('reader resumed the feed');
    first = false;
    const abort = new AbortController();
    const feed = process.engine.events({ after: last, signal: abort.signal })[Symbol.asyncIterator]();
    for (let i = run.rng.int(1, 60); i > 0 && process.alive; i--) {
      const { value } = await outcome(run, me, feed.next());
      if (value === undefined || value.done) break;
      if (value.value.kind === 'reset') return; // pruned below us: from here on nothing is promised
      last = value.value.event.seq;
      run.history.add({ kind: 'event', seq: last, task: value.value.event.task });
    }
    abort.abort();
    await sleep(run, me, run.rng.int(10, 500));
  }
}

/** A trigger each second, put again and again as programs do when they start; rosters contend for its slots. */
export async function schedule(run: Run): Promise<void> {
  const missed = run.rng.pick(['one', 'all', 'skip'] as const);
  while (!run.healed) {
    const trigger = { name: 'each-second', cron: '* * * * * *', queue: 'cron', handler: 'one', input: {}, missed };
    await outcome(run, NATURE, putTrigger(run.anyProcess().engine, trigger));
    await sleep(run, NATURE, run.rng.int(100, 2500));
  }
}

/** Freezes and kills processes and sets the clock, as long as the run is not healed. */
export async function rage(run: Run): Promise<void> {
  const { rng, scheduler, plan } = run;
  while (!run.healed) {
    await sleep(run, NATURE, rng.int(50, 400));
    const process = run.anyProcess();
    if (rng.chance(run.faults.freeze)) {
      const ms = rng.int(1, plan.leaseMs * 3);
      process.frozenUntil = scheduler.now + ms;
      run.trace.say(process.name, `frozen for ${ms} ms`);
      if (ms > plan.leaseMs) run.gates.reach('process frozen beyond its lease');
    }
    if (rng.chance(run.faults.kill)) run.crash(process, 'kill -9');
    if (rng.chance(run.faults.clockJump)) {
      const ms = rng.int(-4000, 4000);
      scheduler.wallOffset += ms;
      run.gates.reach('wall clock jumped');
      run.trace.say('nature', `wall clock jumps by ${ms} ms`);
    }
  }
}

/** After the storm: opens the queues and ends the trigger, asking until it is done. */
export async function tidy(run: Run): Promise<void> {
  const until = async (call: (engine: Engine) => Promise<unknown>): Promise<void> => {
    while ((await outcome(run, NATURE, call(run.anyProcess().engine))).status !== 'ok');
  };
  // Again when the calls that were under way have ended: one of them may be a pause, or a limit of none (seed 190).
  for (const waitMs of [0, SETTLED_MS]) {
    await sleep(run, NATURE, waitMs);
    for (const queue of QUEUES) await until((engine) => engine.resume(queue));
    await until((engine) => engine.store.triggerRemove({ name: 'each-second' }));
    await until((engine) => engine.setLimit(LIMIT, { concurrent: 100 }, 'the run'));
  }
}
