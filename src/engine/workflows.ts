import { createHash } from 'node:crypto';
import { parseDuration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import { checkDefinition, type Definition } from '../core/graph/run.ts';
import { checkName } from '../core/names.ts';
import { type MissedPolicy, NEVER } from '../core/schedule/due.ts';
import { expressionOf, fireTimesOf, type ScheduleTimes, timesOf } from '../core/schedule/expression.ts';
import type {
  NewTrigger,
  Store,
  TriggerRun,
  TriggerView,
  WorkflowAnswer,
  WorkflowRecord,
  WorkflowVersion,
} from '../store/store.ts';
import { checkLimit, whole } from './check.ts';
import type { PushRequest } from './push/push.ts';
import type { TaskInterner } from './push/pushes.ts';

/** A node that starts runs by a clock. */
export interface WorkflowTrigger {
  readonly node: string;
  /** `every` without `from` begins when it is first on, and at once. */
  readonly times: ScheduleTimes;
  readonly timezone?: string | undefined;
  readonly missed?: MissedPolicy | undefined;
  /** The root task of its runs. Its input gets `input`, with the time. */
  readonly request: PushRequest;
  readonly run: TriggerRun;
}

export interface WorkflowChange {
  readonly name: string;
  /** As the caller saw it; 0: there is none. */
  readonly revision: number;
  readonly next?: {
    readonly definition: Definition;
    readonly by?: string | undefined;
    readonly restored?: number | undefined;
  };
  readonly enabled: boolean;
  /** All that it has. */
  readonly triggers: readonly WorkflowTrigger[];
}

export interface WorkflowsDeps {
  readonly store: Pick<
    Store,
    'clock' | 'triggerFind' | 'workflowGet' | 'workflowList' | 'workflowPut' | 'workflowRemove' | 'workflowVersions'
  >;
  readonly tasks: TaskInterner;
}

const MOST_TRIGGERS = 100;
const MOST_BY = 255;
/** A name has 63 characters. */
const MOST_NODE = 20;
const MOST_OWN = 32;

/** Stored workflows: a workflow, its versions and the schedules of its triggers change together. */
export class Workflows {
  readonly #deps: WorkflowsDeps;

  constructor(deps: WorkflowsDeps) {
    this.#deps = deps;
  }

  async get(name: string): Promise<WorkflowRecord | undefined> {
    return this.#deps.store.workflowGet({ name: checkWorkflow(name) });
  }

  /** By name, those after `after`. */
  async list({
    after = '',
    limit,
  }: {
    readonly after?: string;
    readonly limit: number;
  }): Promise<readonly WorkflowRecord[]> {
    checkLimit(limit);
    return this.#deps.store.workflowList({ after: after === '' ? after : checkName('cursor', after), limit });
  }

  /** The newest first. */
  async versions(
    name: string,
    { before = NEVER, limit }: { readonly before?: number | undefined; readonly limit: number },
  ): Promise<readonly WorkflowVersion[]> {
    checkLimit(limit);
    whole('before', before, 0, NEVER);
    return this.#deps.store.workflowVersions({ name: checkWorkflow(name), before, limit });
  }

  /** `changed`: look again. A trigger whose name another schedule has is refused with `CONFLICT`. */
  async put({ name, revision, next, enabled, triggers }: WorkflowChange): Promise<WorkflowAnswer> {
    checkWorkflow(name);
    if (triggers.length > MOST_TRIGGERS) {
      throw fault('INVALID_INPUT', { field: 'workflow', problem: `it has more than ${MOST_TRIGGERS} scheduled nodes` });
    }
    const { calendar } = await this.#deps.store.clock();
    const made: NewTrigger[] = [];
    for (const trigger of triggers) made.push(await this.#triggerOf(name, trigger, calendar));
    const { definition, by, restored } = next ?? {};
    const answer = await this.#deps.store.workflowPut({
      name,
      revision,
      enabled,
      triggers: made,
      ...(definition === undefined
        ? {}
        : { next: { definition: checkDefinition(definition), by: by?.slice(0, MOST_BY), restored } }),
    });
    if (answer.kind === 'taken') {
      const problem = `the schedule ${answer.trigger} is there already, and does not belong to the workflow ${name}`;
      throw fault('CONFLICT', { problem }, { hint: 'Remove that schedule, or give the node another id.' });
    }
    return answer;
  }

  /** `changed`: look again. */
  async remove(name: string, revision: number): Promise<WorkflowAnswer> {
    return this.#deps.store.workflowRemove({ name: checkWorkflow(name), revision });
  }

  async #triggerOf(workflow: string, trigger: WorkflowTrigger, now: number): Promise<NewTrigger> {
    const { node, timezone = 'UTC', missed = 'latest', request, run } = trigger;
    const name = triggerName(workflow, node);
    const before = await this.#deps.store.triggerFind({ name });
    const times = anchored(trigger.times, before, now);
    const cron = expressionOf(times, timezone);
    const { lane, spec, priority, maxTries, payload } = await this.#deps.tasks.place(request);
    const nextAt = firstTime({ cron, timezone, floats: trigger.times !== times, before, now });
    return { name, cron, timezone, missed, nextAt, lane, spec, priority, maxTries, payload, run };
  }
}

export function checkWorkflow(name: unknown): string {
  return checkName('workflow', name);
}

/** The schedule of a node. A node may have any id: where it is no part of a name, a hash tells nodes apart. */
export function triggerName(workflow: string, node: string): string {
  const plain = /^[a-z0-9_-]{1,20}$/.test(node) && workflow.length <= MOST_OWN;
  if (plain) return `${workflow}.${node}`;
  const hash = createHash('sha256').update(`${workflow}\u0000${node}`).digest('hex').slice(0, 8);
  const told = node.toLowerCase().replaceAll(/[^a-z0-9_-]/g, '-');
  return `${workflow.slice(0, MOST_OWN)}.${told.slice(0, MOST_NODE)}-${hash}`;
}

/** Steps are counted from where they began: from the last run when they are of another length now. */
function anchored(times: ScheduleTimes, before: TriggerView | undefined, now: number): ScheduleTimes {
  const { every, from } = times;
  if (every === undefined || from !== undefined) return times;
  const had = before === undefined ? {} : timesOf(before.cron);
  const same = had.every !== undefined && parseDuration(had.every, 'every') === parseDuration(every, 'every');
  const began = same && had.from !== undefined ? Date.parse(had.from) : (before?.last?.slot ?? now);
  return { every, from: new Date(began).toISOString() };
}

interface First {
  readonly cron: string;
  readonly timezone: string;
  /** Steps that began by themselves. */
  readonly floats: boolean;
  readonly before: TriggerView | undefined;
  readonly now: number;
}

/** What is past due fires at once: a step that passed while it was off, and an instant that nobody has fired. */
function firstTime({ cron, timezone, floats, before, now }: First): number {
  const next = fireTimesOf(cron, timezone);
  const { at, every, from } = timesOf(cron);
  if (at !== undefined) return Date.parse(at);
  if (floats) {
    const length = parseDuration(every as string, 'every');
    const began = Date.parse(from as string);
    const latest = began + Math.floor((now - began) / length) * length;
    return latest > (before?.last?.slot ?? Number.NEGATIVE_INFINITY) ? latest : latest + length;
  }
  const first = next(now);
  if (first === undefined) throw fault('INVALID_INPUT', { field: 'schedule', problem: `${cron} never comes` });
  return first;
}
