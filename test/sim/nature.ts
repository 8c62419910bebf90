import { isTaskEvent } from '../../src/core/task/event.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { outcome, sleep } from './calls.ts';
import { signal } from './clients.ts';
import { SETTLED_MS } from './plan.ts';
import type { Run } from './run.ts';
import { NATURE, type Owner } from './scheduler.ts';
import { drawTags, LIMIT, QUEUES, TAGS } from './wishes.ts';

/** Makes the limit that tasks take from, and changes it again and again while they do. */
export async function regulate(run: Run): Promise<void> {
  const { rng } = run;
  while (!run.healed) {
    const limit = { concurrent: rng.int(0, 5), ...(rng.chance(0.5) ? { perKey: rng.int(0, 3) } : {}) };
    const { status } = await outcome(run, NATURE, run.anyProcess().engine.limits.set(LIMIT, limit, 'the run'));
    if (status === 'ok') run.limited = true;
    await sleep(run, NATURE, rng.int(50, 1500));
  }
}

/** Switches workers off and on, and gives and takes tags and priorities, while they claim. */
export async function manage(run: Run): Promise<void> {
  const { rng } = run;
  while (!run.healed) {
    const setting = {
      name: rng.pick(run.workerNames),
      ...(rng.chance(0.5) ? { enabled: rng.chance(0.7) } : {}),
      ...(rng.chance(0.7) ? { tags: drawTags(rng) } : {}),
      ...(rng.chance(0.3) ? { priority: rng.int(0, 2) } : {}),
    };
    await outcome(run, NATURE, run.anyProcess().engine.workers.set(setting));
    await sleep(run, NATURE, rng.int(20, 800));
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
      const { event } = value.value;
      run.history.add({ kind: 'event', seq: last, task: isTaskEvent(event) ? event.task : 0 });
    }
    abort.abort();
    await sleep(run, me, run.rng.int(10, 500));
  }
}

/** A trigger each second, put again and again as programs do when they start; rosters contend for its slots. */
export async function schedule(run: Run): Promise<void> {
  const missed = run.rng.pick(['latest', 'all', 'skip'] as const);
  while (!run.healed) {
    const trigger = { name: 'each-second', cron: '* * * * * *', queue: 'cron', handler: 'one', input: {}, missed };
    await outcome(run, NATURE, run.anyProcess().engine.schedules.put(trigger));
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
      if (ms < 0) scheduler.setBack -= ms;
      run.gates.reach('wall clock jumped');
      run.trace.say('nature', `wall clock jumps by ${ms} ms`);
    }
  }
}

/** After the storm: opens the queues, ends the trigger and lets every worker in, asking until it is done. */
export async function tidy(run: Run): Promise<void> {
  const until = async (call: (engine: Engine) => Promise<unknown>): Promise<void> => {
    while ((await outcome(run, NATURE, call(run.anyProcess().engine))).status !== 'ok');
  };
  // Again when the calls that were under way have ended: one of them may be a pause, or a limit of none (seed 190).
  for (const waitMs of [0, SETTLED_MS]) {
    await sleep(run, NATURE, waitMs);
    for (const queue of QUEUES) await until((engine) => engine.resume(queue));
    await until((engine) => engine.store.triggerRemove({ name: 'each-second' }));
    await until((engine) => engine.limits.set(LIMIT, { concurrent: 100 }, 'the run'));
    for (const name of run.workerNames)
      await until((engine) => engine.workers.set({ name, enabled: true, tags: TAGS }));
  }
  // Who waits without a deadline needs somebody to say something. Nobody else is helped: a wake-up that was lost stays so.
  for (let n = 0; !run.over; n++) {
    for (const [i, channel] of run.model.waits.awaited().entries()) {
      await signal(run, NATURE, `tidy/${n}/${i}`, channel, false);
    }
    await sleep(run, NATURE, 200);
  }
}
