import type { Engine } from '../../src/engine/engine.ts';
import type { EntryRequest, ThenRequest } from '../../src/engine/settle/turn-request.ts';
import type { TurnResult } from '../../src/engine/settle/turns.ts';
import type { WaitRequest } from '../../src/engine/settle/waits.ts';
import type { Grant } from '../../src/store/store.ts';
import { type Answered, outcome, patiently, sleep } from './calls.ts';
import type { SimProcess } from './process.ts';
import type { Run } from './run.ts';
import { drawChildren, type Input, mayHang, type Step, type WaitStep } from './wishes.ts';

/** One attempt at a task, in its process. */
interface Attempt {
  readonly run: Run;
  readonly process: SimProcess;
  readonly grant: Grant;
  readonly depth: number;
  /** Waits for which a signal was there already. */
  readonly gone: WaitRequest[];
  /** Done, and not committed yet: the next turn takes it along. */
  pending: EntryRequest[];
  /** Of its log. */
  lines: number;
}

export async function perform(run: Run, process: SimProcess, grant: Grant): Promise<void> {
  const { rng, plan, faults } = run;
  if (rng.chance(faults.abandon)) return;
  const { poison, steps, depth = 0 } = JSON.parse(grant.payload) as Input;
  if (poison && !run.healed && rng.chance(0.7) && run.crash(process, `poisoned by ${grant.task}`)) return;
  const renews = rng.chance(0.7) || run.healed;
  if (rng.chance(0.3)) await outcome(run, process, process.engine.dependencies(grant.task));
  const attempt: Attempt = { run, process, grant, depth, gone: [], pending: [], lines: 0 };
  if (steps !== undefined && !(await follow(attempt, steps))) return;
  for (let left = rng.int(0, plan.leaseMs * (run.healed ? 0.5 : 2)); left > 0; ) {
    const nap = Math.min(left, Math.ceil(plan.leaseMs / 3));
    await sleep(run, process, nap);
    left -= nap;
    if (rng.chance(0.4)) await outcome(run, process, process.engine.logs.append(grant, [lineOf(attempt)]));
    if (!renews) continue;
    const renewed = await outcome(run, process, process.engine.renew(grant));
    if (renewed.value?.held === false) return;
    if (renewed.value?.held && renewed.value.cancelRequested && rng.chance(0.7)) {
      await settle(attempt, 'cancelled');
      return;
    }
  }
  await settle(attempt, run.healed ? 'completed' : rng.pick(ENDINGS));
}

function lineOf(attempt: Attempt) {
  const { run, process } = attempt;
  return { seq: ++attempt.lines, at: run.scheduler.wall, stream: 'log', text: process.name } as const;
}

// What comes before the end

/** Does what no attempt before has done. False: this attempt is over, or should be. */
async function follow(attempt: Attempt, steps: readonly Step[]): Promise<boolean> {
  const { run, process, grant } = attempt;
  const { rng } = run;
  const journal = await patiently(run, process, () => process.engine.journal(grant.task));
  if (journal.value === undefined) return false;
  const known = new Set(journal.value.map(({ key }) => key));
  // Some handlers do not look first, and are told what was there.
  const forgetful = rng.chance(0.1);
  for (const [i, step] of steps.entries()) {
    const key = `s${i}`;
    if (known.has(key) && !(forgetful && (step.do === 'remember' || step.do === 'tell'))) continue;
    // Long enough for some to lose their lease on the way.
    if (!run.healed && rng.chance(0.25)) await sleep(run, process, rng.int(1, run.plan.leaseMs * 1.5));
    const done = await entriesOf(attempt, key, i + 1, step);
    if (done === undefined) return false;
    attempt.pending.push(...done);
    if (rng.chance(0.5) && (await turn(attempt, { go: 'on' })) === undefined) return false;
  }
  return true;
}

/** What a step leaves in the journal. Undefined: the task waits, or this attempt is over. */
async function entriesOf(
  attempt: Attempt,
  key: string,
  nth: number,
  step: Step,
): Promise<readonly EntryRequest[] | undefined> {
  const { run, grant } = attempt;
  const by = grant.attempt;
  switch (step.do) {
    case 'remember':
      return Array.from({ length: step.count }, (_, i) => ({ key: i === 0 ? key : `${key}.${i}`, value: { by } }));
    case 'tell': {
      const { channel, broadcast } = step;
      const body = { op: `turn/${grant.task}/${key}`, broadcast };
      return [{ key, kind: 'signal', channel, body, ...(broadcast ? { broadcast } : {}) }];
    }
    case 'launch':
      return [...drawChildren(run, parentOf(attempt), key, step.count), { key, kind: 'mark', value: { by } }];
    case 'signal':
    case 'time':
    case 'approval':
    case 'children': {
      const value = await waited(attempt, key, nth, step);
      return value === undefined ? undefined : [{ key, kind: 'wait', value }];
    }
  }
}

const parentOf = ({ grant: { task }, depth }: Attempt) => ({ task, depth });

/** Commits what is pending and goes on so. Undefined: this attempt is over, or nobody knows. */
async function turn(attempt: Attempt, then: ThenRequest): Promise<TurnResult | undefined> {
  const { run, process, grant } = attempt;
  const entries = attempt.pending;
  attempt.pending = [];
  const logs = run.rng.chance(0.2) ? [lineOf(attempt)] : [];
  const { value } = await patiently(run, process, () => turnOnce(attempt, entries, logs, then));
  if (value?.went === 'cancelled') {
    run.history.add({ ...grantOf(grant), kind: 'settle', to: 'cancelled', result: undefined, status: 'ok' });
    return undefined;
  }
  return value;
}

async function turnOnce(
  { run, process, grant }: Attempt,
  entries: readonly EntryRequest[],
  logs: readonly ReturnType<typeof lineOf>[],
  then: ThenRequest,
): Promise<TurnResult> {
  const { task } = grant;
  for (const { key, kind } of entries) if (kind === 'child') run.history.bears(task, key);
  const turned = await process.engine.turn(leaseOf(run, grant), { entries, logs, then });
  for (const [i, { key, kind }] of entries.entries()) {
    const entered = turned.entries[i];
    if (entered === undefined) continue;
    if (entered.child !== undefined) run.history.add({ kind: 'birth', task, key, child: entered.child.task });
    else if (kind !== 'signal') run.history.add({ kind: 'remember', task, key, value: entered.text });
  }
  return turned;
}

interface Heard {
  readonly outcome: string;
  readonly body: string | undefined;
}

/** What came of the wait: of an earlier attempt, or at once. Undefined: the task waits, or this attempt is over. */
async function waited(attempt: Attempt, key: string, nth: number, step: WaitStep): Promise<Heard | undefined> {
  const { run, process, grant } = attempt;
  const { task } = grant;
  const hear = ({ outcome: how, body }: Heard): Heard => {
    run.history.add({ kind: 'heard', task, key, outcome: how, body });
    return { outcome: how, body };
  };
  if (grant.attempt > 1) {
    const last = await patiently(run, process, () => process.engine.waits.of(task));
    if (last.status !== 'ok') return undefined;
    if (last.value?.key === key) return hear(last.value);
  }
  const asked = await requestOf(attempt, key, step);
  if (asked === undefined) return undefined;
  const request = { ...asked, nth };
  const parked = await turn(attempt, { go: 'park', ...request });
  if (parked?.went !== 'woken') return undefined;
  // One that was sent twice comes late.
  const [before] = attempt.gone;
  if (before !== undefined && run.rng.chance(0.5)) {
    await outcome(run, process, process.engine.turn(grant, { then: { go: 'park', ...before } }));
  }
  if (step.do === 'signal') attempt.gone.push(request);
  return hear({ outcome: 'woken', body: parked.body });
}

async function requestOf(attempt: Attempt, key: string, step: WaitStep): Promise<WaitRequest | undefined> {
  switch (step.do) {
    case 'time':
      return { key, timeout: step.timeout };
    case 'signal':
      return { key, channel: step.channel, ...(step.timeout === undefined ? {} : { timeout: step.timeout }) };
    case 'approval':
      return { key, form: { title: key }, timeout: step.timeout };
    case 'children':
      return waitForChildren(attempt, key, step);
  }
}

/** Children that are born in the turn that waits for them, or in one before. */
async function waitForChildren(
  attempt: Attempt,
  key: string,
  { count, need, timeout }: Extract<Step, { do: 'children' }>,
): Promise<WaitRequest | undefined> {
  const { run, process, grant } = attempt;
  const { rng } = run;
  const births = drawChildren(run, parentOf(attempt), key, count);
  let children: readonly (number | string)[] = births.map((birth) => birth.key);
  attempt.pending.push(...births);
  const before = attempt.pending.length - births.length;
  if (rng.chance(0.4)) {
    const turned = await turn(attempt, { go: 'on' });
    if (turned === undefined) return undefined;
    children = turned.entries.slice(before).map((entered) => entered?.child?.task as number);
    // Some of them may have ended when it comes to the wait.
    if (rng.chance(0.6)) await sleep(run, process, rng.int(1, run.plan.leaseMs));
  }
  const parents = run.model.graph.parents(grant.task);
  const others = run.model.unfinished();
  const again = others.filter((task) => parents.includes(task));
  // Whoever waits for just anybody may be waited for by it, and needs a deadline.
  let most = births.some(mayHang) ? (timeout ?? 1000) : timeout;
  if (again.length > 0 && rng.chance(0.8)) children = [...children, ...again];
  else if (others.length > 0 && rng.chance(0.2)) {
    children = [...children, rng.pick(others)];
    most ??= 1000;
  }
  // A signal is as good as the children, now and then.
  const channel = rng.chance(0.4) ? { channel: 'news' } : {};
  return {
    key,
    children,
    ...channel,
    ...(need === undefined ? {} : { need }),
    ...(most === undefined ? {} : { timeout: most }),
  };
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
async function settle(attempt: Attempt, ending: Ending): Promise<void> {
  const { run, process, grant } = attempt;
  const result = JSON.stringify({ by: process.name, attempt: grant.attempt });
  const lease = leaseOf(run, grant);
  const then = run.rng.chance(0.5) || attempt.pending.length > 0 ? thenOf(ending, JSON.parse(result)) : undefined;
  const entries = then === undefined ? [] : lastEntries(attempt);
  const logs = then !== undefined && run.rng.chance(0.3) ? [lineOf(attempt)] : [];
  for (let i = 0; i < 4; i++) {
    const said: Answered<string | undefined> = await outcome(
      run,
      process,
      then === undefined
        ? say(process.engine, lease, ending, JSON.parse(result))
        : turnOnce(attempt, entries, logs, then).then(({ state }) => state),
    );
    const to =
      ending === 'cancelled' || said.value === 'cancelled'
        ? 'cancelled'
        : ending === 'completed'
          ? 'completed'
          : said.value === 'failed'
            ? 'failed'
            : 'again';
    run.history.add({ ...grantOf(grant), kind: 'settle', to, result, status: said.status });
    if (said.status !== 'unknown') return;
  }
}

/** What a turn says that ends the attempt; undefined: no turn says so. */
function thenOf(ending: Ending, result: unknown): ThenRequest | undefined {
  switch (ending) {
    case 'completed':
      return { go: 'complete', result };
    case 'fail':
      return { go: 'fail', error: { message: 'simulated' } };
    case 'giveUp':
      return { go: 'fail', error: { message: 'simulated' }, giveUp: true };
    case 'later':
      return { go: 'fail', error: { message: 'later' }, retryAfterMs: 200 };
    case 'cancelled':
    case 'release':
    case 'bounce':
      return undefined;
  }
}

/** What is pending, and now and then a last word, a signal or children that nobody waits for. */
function lastEntries(attempt: Attempt): readonly EntryRequest[] {
  const { run, grant, depth } = attempt;
  const { rng } = run;
  const entries = [...attempt.pending];
  if (rng.chance(0.4)) entries.push({ key: 'end', value: { by: grant.attempt } });
  if (run.healed) return entries;
  if (depth < 2 && rng.chance(0.06)) entries.push(...drawChildren(run, parentOf(attempt), 'end', rng.int(1, 2)));
  if (rng.chance(0.06)) {
    const body = { op: `turn/${grant.task}/bye`, broadcast: false };
    entries.push({ key: 'bye', kind: 'signal', channel: 'news', body });
  }
  return entries;
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
