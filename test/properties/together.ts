import type { SettleAnswer } from '../../src/store/store.ts';
import { ask, judgeGrants, take, WANT, wantOf } from './claiming.ts';
import { type Call, LEASE_MS, type ModelLease, type ModelTask, must } from './model-parts.ts';
import { ANY, at, BY, operation, TASK } from './operation.ts';
import { judgePushed, pushOf, type Twin } from './pushing.ts';
import { outcome, type Rig } from './rig.ts';
import { apply, held, pickLease, pickTask } from './speaking.ts';

/** Calls that share one commit: what frees comes before what takes. */
const oneCommit = operation(
  4,
  { by: BY, ...TASK, first: ANY, second: ANY, task: ANY, max: 4 },
  async (rig, n) => {
    const { model } = rig;
    const store = rig.store(n.by);
    const ends = pickLease(rig, { how: 0, which: n.first, bare: 1 });
    const returns = pickLease(rig, { how: 0, which: n.second, bare: 1 });
    const task = pickTask(rig, n.task);
    const [request, wanted] = pushOf(n);
    const lane = await rig.engine(n.by).interner.lane(wanted);
    const { spec } = await knownSpec(rig, n.by, request);
    model.queue(wanted.queue);
    const [worker] = rig.workers as [number];
    const [granted, pushed, cancels, returned, settled] = await Promise.all([
      store.taskClaim({
        claims: [{ holder: worker, ttlMs: LEASE_MS, max: n.max + 7, lanes: [{ lane, max: n.max + 7 }] }],
      }),
      store.taskPush({
        items: [{ lane, spec, priority: wanted.priority, maxTries: wanted.maxTries, payload: wanted.payload }],
      }),
      store.taskCancel({ tasks: [task] }),
      store.taskReturn({
        items: [{ ...returns, change: 'released', delayMs: 0, refund: true, bounced: false }],
      }),
      store.taskSettle({ items: [{ ...ends, to: 'completed', reason: 'none', result: '1' }] }),
    ]);
    // Both have the same rank, so they run in the order of the calls.
    await judgeAtPort(rig, returns, { verb: 'release', delayMs: 0 }, returned[0]);
    await judgeAtPort(rig, ends, { verb: 'complete', result: '1' }, settled[0]);
    const cancel = model.cancel(task) ?? 'unknown';
    must(cancels[0] === cancel, `a cancel was answered ${cancels[0]}, not ${cancel}`);
    const [born] = pushed;
    must(born?.ok === true && born.fresh, 'a push was refused');
    model.create(born.task, wanted);
    const enabled = model.workers.get(worker)?.enabled ?? false;
    const due = enabled ? model.line(wanted.queue, wanted.handler).slice(0, n.max + 7) : [];
    const have = (granted[0]?.grants ?? []).map((grant) => grant.task).join();
    must(have === due.map(({ id }) => id).join(), `the lane gave ${have}, not ${due.map(({ id }) => id).join()}`);
    for (const grant of granted[0]?.grants ?? []) take(rig, grant, { worker, leaseMs: LEASE_MS });
    rig.gates.reach('calls shared a commit');
  },
  ['memory', 'file'],
);

/** Calls of one turn: the engine sends what frees before what takes. */
const oneTurn = operation(4, { by: BY, ...TASK, ...WANT, first: ANY, second: ANY }, async (rig, n) => {
  const { model } = rig;
  const engine = rig.engine(n.by);
  const leases = held(rig);
  const done = leases.length > 0 ? at(leases, n.first) : undefined;
  const back = leases.length > 0 ? at(leases, n.second) : undefined;
  const twin = pushOf(n);
  const want = wantOf(rig, n);
  const [pushed, grants] = await Promise.all([
    outcome(engine.push(twin[0])),
    ask(rig, n.by, want),
    done && engine.complete(done, 'done'),
    back !== done && back !== undefined ? engine.release(back) : undefined,
  ]);
  if (done !== undefined) model.end(model.held(done) as ModelTask, 'completed', 'none', '"done"');
  const again = back !== done && back !== undefined ? model.held(back) : undefined;
  const intent = again && model.intend(back as ModelLease, { verb: 'release', delayMs: 0 });
  if (again && intent) await apply(rig, again, intent, model.fate(back as ModelLease, intent));
  judgePushed(rig, n.by, twin[1], pushed);
  judgeGrants(rig, n.by, want, grants, 'in any order');
});

async function knownSpec(rig: Rig, by: number, request: Twin[0]): Promise<{ readonly spec: number }> {
  const { retry } = request;
  const policy = { baseMs: 1_000, factor: 2, maxMs: 3_600_000, jitter: 0.5, ...(retry as object) };
  const body = JSON.stringify({ retry: { ...policy, ...durations(policy) } });
  return { spec: await rig.engine(by).interner.spec(body) };
}

function durations(policy: { readonly baseMs: unknown; readonly maxMs: unknown }): object {
  const ms = (value: unknown): unknown => (value === '200ms' ? 200 : value === '5s' ? 5_000 : value);
  return { baseMs: ms(policy.baseMs), maxMs: ms(policy.maxMs) };
}

async function judgeAtPort(
  rig: Rig,
  lease: { readonly task: number; readonly attempt: number },
  call: Call,
  answer: SettleAnswer | undefined,
): Promise<void> {
  const intent = rig.model.intend(lease, call);
  const fate = rig.model.fate(lease, intent);
  must(answer === fate, `the port answered ${answer}, not ${fate}`);
  const task = rig.model.held(lease);
  if (task !== undefined && intent !== undefined) await apply(rig, task, intent, fate);
}

export const TOGETHER = { oneCommit, oneTurn };
