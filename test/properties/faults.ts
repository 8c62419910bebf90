import { DAY_MS, LEASE_MS, type ModelTask, must } from './model-parts.ts';
import { ANY, BY, operation, TASK } from './operation.ts';
import { judgePushed, pushOf, type Twin } from './pushing.ts';
import { BUSY_MS, outcome, type Rig } from './rig.ts';
import { held } from './speaking.ts';

const tickOfTime = operation(6, { ms: 2_000 }, async (rig, n) => rig.advance(n.ms + 1));
const beyondTheLease = operation(3, { ms: 60_000 }, async (rig, n) => rig.advance(LEASE_MS + n.ms));
const hours = operation(2, { hours: 30 }, async (rig, n) => rig.advance((n.hours + 1) * 3_600_000));
/** Up to 31 days: beyond every retention, and beyond what a timer of the platform can wait. */
const days = operation(0.5, { days: 31 }, async (rig, n) => {
  await rig.advance((n.days + 1) * DAY_MS);
  rig.gates.reach(n.days > 24 ? 'more than 24.8 days passed' : 'days passed');
});
const setWallClock = operation(1, { minutes: 2 * 24 * 60 + 1 }, async (rig, n) => {
  await rig.setWall((n.minutes - 24 * 60) * 60_000);
  rig.gates.reach(n.minutes < 24 * 60 ? 'wall clock set back' : 'wall clock set ahead');
});

const reopen = operation(0.7, { by: BY, both: 2 }, async (rig, n) => {
  await rig.restart(n.by, 'closed');
  if (n.both === 1) await rig.restart(1 - n.by, 'closed');
  await rig.compareAll();
  rig.gates.reach('closed and opened again');
});

const crash = operation(1.1, { by: BY, both: 2 }, async (rig, n) => {
  await rig.restart(n.by, 'crashed');
  if (n.both === 1) await rig.restart(1 - n.by, 'crashed');
  await rig.compareAll();
  rig.gates.reach('crashed and opened again');
});

const reboot = operation(
  0.5,
  { minutes: 100, back: 3 },
  async (rig, n) => {
    await rig.reboot(n.back === 2 ? -n.minutes * 60_000 : n.minutes * 60_000);
    rig.gates.reach('host rebooted');
  },
  ['file'],
);

/** Somebody else holds the file for a while; beyond the deadline the calls are refused and have done nothing. */
const busy = operation(
  2,
  { by: BY, ...TASK, ms: 60, long: 6, which: ANY },
  async (rig, n) => {
    const { model, gates } = rig;
    const raw = rig.raw();
    raw.exec('BEGIN IMMEDIATE');
    const twin = pushOf(n);
    const [lease] = held(rig).slice(n.which % 3);
    const calls = [
      outcome(rig.engine(0).push(twin[0])),
      outcome(rig.engine(1).push(twin[0])),
      ...(lease === undefined ? [] : [outcome(rig.engine(n.by).complete(lease, 'late'))]),
    ];
    let answered = 0;
    for (const call of calls) void call.then(() => answered++);
    await rig.settle();
    const long = n.long === 5;
    await rig.advance(long ? BUSY_MS + 20 : n.ms);
    await rig.settle();
    const stats = await rig.engine(n.by).stats(twin[1].queue);
    must(stats.ready === (model.queues.get(twin[1].queue)?.stats.ready ?? 0), 'a busy store shows what is not there');
    must(answered === (long ? calls.length : 0), `${answered} calls were answered while the file was held`);
    raw.exec('ROLLBACK');
    rig.host.fireWaiting();
    await rig.settle();
    must(answered === calls.length, `${calls.length - answered} calls were forgotten`);
    const [first, second, third] = await Promise.all(calls);
    if (long) {
      for (const answer of [first, second, third]) {
        must(answer === undefined || ('error' in answer && answer.error === 'STORE_BUSY'), 'a busy store took a call');
      }
      gates.reach('busy until the deadline');
      return;
    }
    await judgeBusyPushes(rig, twin, [first, second]);
    if (lease !== undefined) {
      must(third !== undefined && 'value' in third, 'busy became a refusal');
      model.end(model.held(lease) as ModelTask, 'completed', 'none', '"late"');
    }
    gates.reach('busy and tried again');
  },
  ['file'],
);

async function judgeBusyPushes(rig: Rig, [, wanted]: Twin, answers: readonly unknown[]): Promise<void> {
  const pushes = answers as Awaited<ReturnType<typeof outcome<never>>>[];
  const tasks = pushes.map((answer) => ('value' in answer ? (answer.value as { task: number }).task : 0));
  for (const i of (tasks[0] as number) < (tasks[1] as number) ? [0, 1] : [1, 0]) {
    judgePushed(rig, i, wanted, pushes[i] as Parameters<typeof judgePushed>[3]);
  }
}

export const TIME_AND_FAULTS = {
  tickOfTime,
  beyondTheLease,
  hours,
  days,
  setWallClock,
  reopen,
  crash,
  reboot,
  busy,
};
