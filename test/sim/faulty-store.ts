import { fault, isEngineError } from '../../src/core/errors.ts';
import type * as port from '../../src/store/store.ts';
import { judge, type Verb } from './judges.ts';
import type { SimProcess } from './process.ts';
import type { Run } from './run.ts';
import { NATURE } from './scheduler.ts';

type Call = (params: unknown) => Promise<unknown>;

const READS: ReadonlySet<string> = new Set([
  'laneScan',
  'specGet',
  'leaseOverdue',
  'leaseCancels',
  'logRead',
  'logSize',
  'waitGet',
  'waitList',
  'signalKept',
  'journalList',
  'journalSize',
  'treeList',
  'treeCount',
  'definitionGet',
  'budgetGet',
  'runGet',
  'runFind',
  'runList',
  'depList',
  'depDependents',
  'depNeeds',
  'resultKeys',
  'resultFind',
  'taskGet',
  'taskList',
  'attemptList',
  'queueStats',
  'queueList',
  'laneGet',
  'counterGet',
  'limitCounters',
  'workerFleet',
  'workerList',
  'eventRead',
  'dutyList',
  'triggerList',
  'triggerFind',
  'triggerFires',
  'triggerDue',
  'workflowGet',
  'workflowList',
  'workflowVersions',
  'poolGet',
  'poolList',
  'poolLook',
  'ticketList',
  'decisionList',
] satisfies Verb[]);

const HARMLESS: ReadonlySet<string> = new Set([
  'taskSettle',
  'taskReturn',
  'leaseRenew',
  'leaseReap',
  'taskStage',
  'taskExpire',
  'logAppend',
  'taskTurn',
  'resultKeep',
  'workerBeat',
  'workerReap',
  'triggerFire',
] satisfies Verb[]);

/** There are few of these, so more of them come twice, and soon enough to meet the attempt that sent them. */
const FEW: ReadonlySet<string> = new Set(['taskTurn', 'signalSend'] satisfies Verb[]);

/** Harmless under their operation ids. */
const NAMED: ReadonlySet<string> = new Set(['taskPush', 'graphPush', 'signalSend'] satisfies Verb[]);

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
      const exec = (member as Call).bind(target);
      return (params: unknown) =>
        travel(name as Verb, name === 'taskPrune' ? small(params, run) : params, exec, process, run);
    },
  });
}

/** A pruner whose steps are so small that it leaves a tree half removed between two of them. */
function small(params: unknown, { plan }: Run): unknown {
  return { ...(params as object), limit: plan.pruneBatch };
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
          if (repeatable(verb, params) && rng.chance(run.faults.double * (FEW.has(verb) ? 4 : 1))) {
            gates.reach('message doubled');
            const again = (): void => void commit(verb, params, exec, process, run).catch(() => undefined);
            scheduler.in(rng.int(0, FEW.has(verb) ? 400 : 3000), NATURE, again);
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

/** Only what the contract says may be repeated: fenced writes as they are, pushes and signals under their operation ids. */
function repeatable(verb: Verb, params: unknown): boolean {
  if (HARMLESS.has(verb)) return true;
  if (!NAMED.has(verb)) return false;
  return (params as { items: { op?: string }[] }).items.every(({ op }) => op !== undefined);
}

async function commit(verb: Verb, params: unknown, exec: Call, process: SimProcess, run: Run): Promise<unknown> {
  try {
    const answer = await exec(params);
    run.guard(() => judge(verb, params, answer, process, run));
    return answer;
  } catch (error) {
    const duty = (params as { duty?: port.DutyTerm } | undefined)?.duty;
    if (isEngineError(error, 'DUTY_LOST') && duty !== undefined) {
      run.guard(() => run.model.duties.wrote(duty, true));
      run.trace.say(process.name, `${verb} ${duty.name}@${duty.epoch} refused`);
    } else {
      run.guard(() => {
        throw error;
      });
    }
    throw error;
  }
}
