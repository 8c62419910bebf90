import { fault, isEngineError } from '../../src/core/errors.ts';
import type * as port from '../../src/store/store.ts';
import type { SimProcess } from './process.ts';
import type { Run } from './run.ts';
import { NATURE } from './scheduler.ts';

type Verb = {
  [K in keyof port.Store]: port.Store[K] extends (params: never) => Promise<unknown> ? K : never;
}[keyof port.Store];
type Call = (params: unknown) => Promise<unknown>;

const READS: ReadonlySet<string> = new Set([
  'laneScan',
  'specGet',
  'leaseOverdue',
  'leaseCancels',
  'logRead',
  'waitGet',
  'waitList',
  'checkpointList',
  'taskGet',
  'taskList',
  'attemptList',
  'queueStats',
  'queueList',
  'laneGet',
  'slotGet',
  'limitSlots',
  'workerFleet',
  'workerList',
  'eventRead',
  'triggerList',
  'triggerDue',
] satisfies Verb[]);

const HARMLESS: ReadonlySet<string> = new Set([
  'taskSettle',
  'taskReturn',
  'leaseRenew',
  'leaseReap',
  'taskStage',
  'taskExpire',
  'logAppend',
  'taskPark',
  'checkpointPut',
  'workerBeat',
  'workerReap',
  'triggerFire',
] satisfies Verb[]);

/**
 * The road between an engine and its store, with everything that can happen on it: requests and answers take time and get
 * lost, messages come twice or late, and the process dies before or after its commit. Each commit is judged by the model.
 */
export function faultyStore(real: port.Store, process: SimProcess, run: Run): port.Store {
  return new Proxy(real, {
    get(target, name) {
      const member = Reflect.get(target, name, target) as unknown;
      if (typeof member !== 'function' || name === 'watch' || name === 'close' || name === 'taskPushIn') {
        return typeof member === 'function' ? member.bind(target) : member;
      }
      return (params: unknown) => travel(name as Verb, params, (member as Call).bind(target), process, run);
    },
  });
}

function travel(verb: Verb, params: unknown, exec: Call, process: SimProcess, run: Run): Promise<unknown> {
  const { scheduler, rng, gates, trace } = run;
  return new Promise((resolve, reject) => {
    const slow = verb === run.plan.clogged && !run.healed ? 0.4 : run.faults.slow;
    const latency = (): number => (rng.chance(slow) ? rng.int(1, 400) : rng.int(0, 2));
    scheduler.in(latency(), process, () => {
      if (rng.chance(run.faults.lostRequest)) {
        trace.say(process.name, `${verb} request lost`);
        reject(fault('STORE_UNAVAILABLE', { problem: 'simulated' }));
        return;
      }
      if (!READS.has(verb) && rng.chance(run.faults.crashBefore) && run.crash(process, `before ${verb}`)) {
        gates.reach('crash before the commit');
        return;
      }
      void commit(verb, params, exec, process, run).then(
        (answer) => {
          if (!READS.has(verb) && rng.chance(run.faults.crashAfter) && run.crash(process, `after ${verb}`)) {
            gates.reach('crash after the commit');
            return;
          }
          if (repeatable(verb, params) && rng.chance(run.faults.double)) {
            gates.reach('message doubled');
            scheduler.in(
              rng.int(0, 3000),
              NATURE,
              () => void commit(verb, params, exec, process, run).catch(() => undefined),
            );
          }
          scheduler.in(latency(), process, () => {
            if (!READS.has(verb) && rng.chance(run.faults.lostAnswer)) {
              gates.reach('answer lost');
              trace.say(process.name, `${verb} answer lost`);
              reject(fault('STORE_UNAVAILABLE', { problem: 'simulated' }));
              return;
            }
            resolve(answer);
          });
        },
        (error: unknown) => {
          scheduler.in(latency(), process, () => reject(error));
        },
      );
    });
  });
}

/** Only what the contract says may be repeated: fenced writes as they are, pushes under their operation ids. */
function repeatable(verb: Verb, params: unknown): boolean {
  if (HARMLESS.has(verb)) return true;
  if (verb === 'taskPush') return (params as { items: port.NewTask[] }).items.every(({ op }) => op !== undefined);
  return false;
}

async function commit(verb: Verb, params: unknown, exec: Call, process: SimProcess, run: Run): Promise<unknown> {
  try {
    const answer = await exec(params);
    run.guard(() => judge(verb, params, answer, process, run));
    return answer;
  } catch (error) {
    const duty = (params as { duty?: port.DutyTerm } | undefined)?.duty;
    if (isEngineError(error, 'DUTY_LOST') && duty !== undefined) {
      run.guard(() => run.model.dutyWrote(duty, true));
      run.trace.say(process.name, `${verb} ${duty.name}@${duty.epoch} refused`);
    } else {
      run.guard(() => {
        throw error;
      });
    }
    throw error;
  }
}

type Params<K extends Verb> = Parameters<port.Store[K]>[0];
type Answer<K extends Verb> = Awaited<ReturnType<port.Store[K]>>;
type Judge<K extends Verb> = (run: Run, params: Params<K>, answer: Answer<K>) => string | undefined;

const JUDGES: { readonly [K in Verb]?: Judge<K> } = {
  taskPush: ({ model }, { items }, answers) => {
    model.pushed(items, answers);
    return answers.map((a) => (a.ok ? `${a.task}${a.fresh ? '' : ' (old)'}` : 'conflict')).join(' ');
  },
  taskClaim: ({ model }, { claims }, answers) => {
    for (const [i, claim] of claims.entries()) model.claimed(claim, answers[i]?.grants ?? []);
    return (
      answers
        .flatMap((answer) => answer?.grants ?? [])
        .map((g) => `${g.task}#${g.attempt}`)
        .join(' ') || undefined
    );
  },
  taskSettle: ({ model }, { items }, answers) => {
    for (const [i, item] of items.entries()) model.settled(item, answers[i] as port.SettleAnswer);
    return items.map((item, i) => `${item.task}#${item.attempt} ${item.to}: ${answers[i]}`).join(', ');
  },
  taskReturn: ({ model }, { items }, answers) => {
    for (const [i, item] of items.entries()) model.returned(item, answers[i] as port.SettleAnswer);
    return items.map((item, i) => `${item.task}#${item.attempt} ${item.change}: ${answers[i]}`).join(', ');
  },
  leaseRenew: ({ model }, { items }, answers) => {
    for (const [i, item] of items.entries()) model.renewed(item, answers[i] as port.RenewAnswer);
    return items.map((item, i) => `${item.task}#${item.attempt} ${answers[i]?.held ? 'held' : 'lost'}`).join(', ');
  },
  logAppend: ({ model }, { items }, answers) => {
    for (const [i, item] of items.entries()) model.logged(item, answers[i] as port.LogAnswer);
    return items.map((item, i) => `${item.task}#${item.attempt} ${answers[i]}`).join(', ');
  },
  leaseCancels: ({ model }, { holder }, leases) => {
    model.askedToStop(holder, leases);
    return undefined;
  },
  leaseReap: ({ model }, { duty }, { reaped }) => {
    model.dutyWrote(duty, false);
    return reaped > 0 ? `reaped ${reaped}` : undefined;
  },
  taskStage: ({ model }, { duty }, { staged }) => {
    model.dutyWrote(duty, false);
    return staged > 0 ? `staged ${staged}` : undefined;
  },
  taskExpire: ({ model }, { duty }, { expired }) => {
    model.dutyWrote(duty, false);
    return expired > 0 ? `timed out ${expired}` : undefined;
  },
  workerReap: ({ model, gates }, { duty }, lost) => {
    model.dutyWrote(duty, false);
    gates.reach('worker lost', lost.length);
    return lost.length > 0 ? `lost ${lost}` : undefined;
  },
  taskPrune: ({ model }, { duty }, { tasks }) => {
    model.dutyWrote(duty, false);
    return tasks > 0 ? `pruned ${tasks}` : undefined;
  },
  statsAudit: ({ model }, { duty }, drifts) => {
    model.dutyWrote(duty, false);
    if (drifts.length > 0) throw new Error(`the auditor found drift: ${JSON.stringify(drifts)}`);
    return undefined;
  },
  triggerFire: ({ model }, firing, { moved, pushed }) => {
    model.dutyWrote(firing.duty, false);
    model.fired(firing, moved, pushed);
    return moved ? `fired ${pushed.length}` : 'not moved';
  },
  dutyTake: ({ model }, { name, ttlMs }, tenure) => {
    model.dutyTaken(name, ttlMs, tenure);
    return tenure && `${name}@${tenure.epoch}`;
  },
  dutyRenew: ({ model }, { duty, ttlMs }, held) => {
    model.dutyRenewed(duty, ttlMs, held);
    return held ? undefined : `${duty.name}@${duty.epoch} lost`;
  },
  dutyRelease: ({ model }, { duty }) => {
    model.dutyReleased(duty);
    return `${duty.name}@${duty.epoch}`;
  },
  taskCancel: (_run, { tasks }, answers) => `${tasks}: ${answers}`,
  taskRevive: (_run, { tasks }, answers) => `${tasks}: ${answers.map((a) => (a.ok ? 'ready' : a.state))}`,
  queuePause: (_run, { queue, paused }) => `${queue} ${paused}`,
};

function judge(verb: Verb, params: unknown, answer: unknown, process: SimProcess, run: Run): void {
  const judged = (JUDGES[verb] as ((run: Run, params: unknown, answer: unknown) => string | undefined) | undefined)?.(
    run,
    params,
    answer,
  );
  if (judged !== undefined) run.trace.say(process.name, `${verb} ${judged}`);
}
