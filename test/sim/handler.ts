import type { Engine } from '../../src/engine/engine.ts';
import type { WaitRequest } from '../../src/engine/waits.ts';
import type { Grant } from '../../src/store/store.ts';
import { type Answered, outcome, patiently, sleep } from './calls.ts';
import type { SimProcess } from './process.ts';
import { pushOne } from './pusher.ts';
import type { Run } from './run.ts';
import { drawChild, type Input, type Step } from './wishes.ts';

/** One attempt at a task, in its process. */
interface Attempt {
  readonly run: Run;
  readonly process: SimProcess;
  readonly grant: Grant;
  /** Waits for which a signal was there already. */
  readonly gone: WaitRequest[];
}

export async function perform(run: Run, process: SimProcess, grant: Grant): Promise<void> {
  const { rng, plan, faults } = run;
  if (rng.chance(faults.abandon)) return;
  const { poison, steps } = JSON.parse(grant.payload) as Input;
  if (poison && !run.healed && rng.chance(0.7) && run.crash(process, `poisoned by ${grant.task}`)) return;
  const renews = rng.chance(0.7) || run.healed;
  if (rng.chance(0.3)) await outcome(run, process, process.engine.dependencies(grant.task));
  if (steps !== undefined && !(await follow({ run, process, grant, gone: [] }, steps))) return;
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

// What comes before the end

/** Does what no attempt before has done. False: this attempt is over, or should be. */
async function follow(attempt: Attempt, steps: readonly Step[]): Promise<boolean> {
  const { run, process, grant } = attempt;
  const { rng } = run;
  const { engine } = process;
  const known = await patiently(run, process, () => engine.checkpoints(grant.task));
  if (known.value === undefined) return false;
  // Some handlers do not look first, and are told what was there.
  const forgetful = rng.chance(0.1);
  for (const [i, step] of steps.entries()) {
    const key = `s${i}`;
    if (known.value.some((one) => one.key === key) && !(forgetful && step.do === 'remember')) continue;
    // Long enough for some to lose their lease on the way.
    if (!run.healed && rng.chance(0.25)) await sleep(run, process, rng.int(1, run.plan.leaseMs * 1.5));
    const value = step.do === 'remember' ? { by: grant.attempt } : await waited(attempt, key, i + 1, step);
    if (value === undefined) return false;
    const put = await patiently(run, process, () => engine.checkpoint(grant, key, value));
    if (put.value === undefined) return false;
    run.history.add({ kind: 'remember', task: grant.task, key, value: put.value });
  }
  return true;
}

interface Heard {
  readonly outcome: string;
  readonly body: string | undefined;
}

/** What came of the wait: of an earlier attempt, or at once. Undefined: the task waits, or this attempt is over. */
async function waited(
  attempt: Attempt,
  key: string,
  turn: number,
  step: Exclude<Step, { do: 'remember' }>,
): Promise<unknown> {
  const { run, process, grant } = attempt;
  const { task } = grant;
  const hear = ({ outcome: how, body }: Heard): Heard => {
    run.history.add({ kind: 'heard', task, key, outcome: how, body });
    return { outcome: how, body };
  };
  if (grant.attempt > 1) {
    const last = await patiently(run, process, () => process.engine.waitOf(task));
    if (last.status !== 'ok') return undefined;
    if (last.value?.key === key) return hear(last.value);
  }
  const asked = await requestOf(attempt, key, step);
  if (asked === undefined) return undefined;
  const request = { ...asked, turn };
  const parked = await patiently(run, process, () => process.engine.park(leaseOf(run, grant), request));
  if (parked.value?.kind === 'woken') {
    // One that was sent twice comes late.
    const [before] = attempt.gone;
    if (before !== undefined && run.rng.chance(0.5)) await outcome(run, process, process.engine.park(grant, before));
    if (step.do === 'signal') attempt.gone.push(request);
    return hear({ outcome: 'woken', body: parked.value.body });
  }
  if (parked.value?.kind === 'cancelled') {
    run.history.add({ ...grantOf(grant), kind: 'settle', to: 'cancelled', result: undefined, status: 'ok' });
  }
  return undefined;
}

async function requestOf(
  attempt: Attempt,
  key: string,
  step: Exclude<Step, { do: 'remember' }>,
): Promise<WaitRequest | undefined> {
  switch (step.do) {
    case 'time':
      return { key, timeout: step.timeout };
    case 'signal':
      return { key, channel: step.channel, ...(step.timeout === undefined ? {} : { timeout: step.timeout }) };
    case 'approval':
      return { key, channel: `approval:${attempt.grant.task}:${key}`, form: { title: key }, timeout: step.timeout };
    case 'children':
      return waitForChildren(attempt, key, step);
  }
}

async function waitForChildren(
  { run, process, grant }: Attempt,
  key: string,
  { count, any, timeout }: Extract<Step, { do: 'children' }>,
): Promise<WaitRequest | undefined> {
  const { rng } = run;
  const children: number[] = [];
  for (let i = 0; i < count; i++) {
    const child = await pushOne(run, process, drawChild(run, `child/${grant.task}/${key}/${i}`));
    if (child === undefined) return undefined;
    children.push(child);
  }
  // Some of them may have ended when it comes to the wait.
  if (rng.chance(0.3)) await sleep(run, process, rng.int(1, run.plan.leaseMs));
  const parents = run.model.graph.parents(grant.task);
  const others = run.model.unfinished();
  const again = others.filter((task) => parents.includes(task));
  if (again.length > 0 && rng.chance(0.8)) children.push(...again);
  // Whoever waits for just anybody may be waited for by it, and needs a deadline.
  else if (others.length > 0 && rng.chance(0.2)) {
    return { key, children: [...children, rng.pick(others)], any, timeout: timeout ?? 1000 };
  }
  // A signal is as good as the children, now and then.
  const channel = rng.chance(0.4) ? { channel: 'news' } : {};
  return { key, children, any, ...channel, ...(timeout === undefined ? {} : { timeout }) };
}

// Its end

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

const grantOf = ({ task, attempt }: Grant): Pick<Grant, 'task' | 'attempt'> => ({ task, attempt });

/** Half of the callers kept only (task, attempt), as a remote worker would. */
const leaseOf = ({ rng }: Run, grant: Grant): Parameters<Engine['fail']>[0] =>
  rng.chance(0.5) ? grant : grantOf(grant);

/** Says it again while no answer comes: the fence makes that harmless. */
async function settle(run: Run, process: SimProcess, grant: Grant, ending: Ending): Promise<void> {
  const { task, attempt } = grant;
  const result = JSON.stringify({ by: process.name, attempt });
  const lease = leaseOf(run, grant);
  for (let i = 0; i < 4; i++) {
    const said: Answered<string | undefined> = await outcome(
      run,
      process,
      say(process.engine, lease, ending, JSON.parse(result)),
    );
    const to =
      ending === 'completed'
        ? 'completed'
        : ending === 'cancelled' || said.value === 'cancelled'
          ? 'cancelled'
          : said.value === 'failed'
            ? 'failed'
            : 'again';
    run.history.add({ kind: 'settle', task, attempt, to, result, status: said.status });
    if (said.status !== 'unknown') return;
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
