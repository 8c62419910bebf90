import { fault } from '../core/errors.ts';
import { checkName } from '../core/names.ts';
import { FIRES_KEPT, type FireOutcome, MISSED_POLICIES, type MissedPolicy, NEVER } from '../core/schedule/due.ts';
import { expressionOf, fireTimesOf, nextTimes, type ScheduleTimes, timesOf } from '../core/schedule/expression.ts';
import type { TaskState } from '../core/task/task.ts';
import type { FireLine, Store, TriggerRecord, TriggerView } from '../store/store.ts';
import { checkOptions, whole } from './check.ts';
import type { PushRequest } from './push/push.ts';
import type { Pushed, TaskInterner } from './push/pushes.ts';
import { firingOf } from './trigger-runs.ts';

/** A task that is pushed at each fire time. */
export interface ScheduleRequest
  extends ScheduleTimes,
    Pick<
      PushRequest,
      | 'queue'
      | 'handler'
      | 'input'
      | 'priority'
      | 'maxAttempts'
      | 'retry'
      | 'timeout'
      | 'placement'
      | 'limits'
      | 'fairness'
      | 'permissions'
    > {
  readonly name: string;
  /** An IANA name; default UTC. */
  readonly timezone?: string | undefined;
  /** What becomes of fire times that passed while nobody could fire them; default `latest`. */
  readonly missed?: MissedPolicy | undefined;
}

/** `ended`: no fire time is left. */
export type ScheduleState = 'active' | 'paused' | 'ended';

export interface Schedule {
  readonly name: string;
  readonly queue: string;
  readonly handler: string;
  /** The input of its tasks, as JSON. */
  readonly payload: string;
  readonly priority: number;
  readonly maxTries: number;
  readonly times: ScheduleTimes;
  readonly timezone: string;
  readonly missed: MissedPolicy;
  readonly state: ScheduleState;
  readonly nextAt: number | undefined;
  readonly last: Fire | undefined;
  /** The stored workflow that it belongs to. */
  readonly workflow?: string | undefined;
}

/** What became of a fire time, or of those that were skipped together. */
export interface Fire {
  readonly slot: number;
  /** Of skipped fire times: all from `slot` on and before this. */
  readonly before: number | undefined;
  readonly at: number;
  readonly outcome: FireOutcome;
  /** Absent when its push was refused, and when it was pruned. */
  readonly task: { readonly id: string; readonly state: TaskState } | undefined;
}

export interface SchedulesDeps {
  readonly store: Pick<
    Store,
    | 'clock'
    | 'taskGet'
    | 'triggerPut'
    | 'triggerRemove'
    | 'triggerList'
    | 'triggerFind'
    | 'triggerPause'
    | 'triggerResume'
    | 'triggerRun'
    | 'triggerFires'
  >;
  readonly tasks: TaskInterner;
  readonly idOf: (task: { readonly task: number; readonly createdAt: number }) => string;
}

const KNOWN: ReadonlySet<string> = new Set([
  'name',
  'cron',
  'every',
  'from',
  'at',
  'daily',
  'weekly',
  'monthly',
  'timezone',
  'missed',
  'queue',
  'handler',
  'input',
  'priority',
  'maxAttempts',
  'retry',
  'timeout',
  'placement',
  'limits',
  'fairness',
  'permissions',
] satisfies (keyof ScheduleRequest)[]);
const MOST_TIMES = 100;
/** A schedule that is changed so often between two statements is not a coincidence. */
const TRIES = 5;

/** Schedules: put, paused, run out of turn, read. The duty `cron` fires them. */
export class Schedules {
  readonly #deps: SchedulesDeps;

  constructor(deps: SchedulesDeps) {
    this.#deps = deps;
  }

  /**
   * Makes a schedule or replaces the one of its name; answers the next fire time. One whose times and zone did not change keeps its
   * place, so that a program may put it at each start. A paused one stays paused.
   */
  async put(request: ScheduleRequest): Promise<number> {
    checkOptions('schedule', request, KNOWN);
    const { name, cron, every, from, at, daily, weekly, monthly, ...rest } = request;
    const { timezone = 'UTC', missed = 'latest', ...task } = rest;
    checkName('schedule', name);
    if (!MISSED_POLICIES.includes(missed)) {
      throw fault('INVALID_INPUT', { field: 'missed', problem: `it is one of ${MISSED_POLICIES.join(', ')}` });
    }
    const expression = expressionOf({ cron, every, from, at, daily, weekly, monthly }, timezone);
    const { lane, spec, priority, maxTries, payload } = await this.#deps.tasks.place(task);
    const nextAt = await this.#firstTime(name, expression, timezone);
    const trigger = { name, cron: expression, timezone, missed, nextAt, lane, spec, priority, maxTries, payload };
    const put = await this.#deps.store.triggerPut({ trigger });
    if (put === undefined) throw ofWorkflow(name, await this.#find(name));
    return put;
  }

  async remove(name: string): Promise<void> {
    if (!(await this.#deps.store.triggerRemove({ name: checkName('schedule', name) }))) await this.#refuse(name);
  }

  /** By name. */
  async list(): Promise<readonly Schedule[]> {
    const records = await this.#deps.store.triggerList();
    const lasts = await this.#fires(records.flatMap(({ last }) => last ?? []));
    return records.map((record) => scheduleOf(record, record.last && lasts.get(record.last)));
  }

  async get(name: string): Promise<Schedule> {
    const record = await this.#find(name);
    const fires = await this.#fires(record.last === undefined ? [] : [record.last]);
    return scheduleOf(record, record.last && fires.get(record.last));
  }

  /** Its next fire times; of a paused one those that it would have if it were resumed now. */
  async times(name: string, count = 5): Promise<readonly number[]> {
    whole('count', count, 1, MOST_TIMES);
    const record = await this.#find(name);
    const next = fireTimesOf(record.cron, record.timezone);
    const first = record.heldAt === undefined ? record.nextAt : await this.#resumption(record);
    return first === NEVER ? [] : nextTimes(next, first - 1, count);
  }

  /** The next fire times that a schedule with these times would have. */
  async preview(times: ScheduleTimes, timezone = 'UTC', count = 5): Promise<readonly number[]> {
    whole('count', count, 1, MOST_TIMES);
    const expression = expressionOf(times, timezone);
    const { calendar } = await this.#deps.store.clock();
    return nextTimes(fireTimesOf(expression, timezone), calendar, count);
  }

  /** What became of its fire times, the newest first. */
  async history(name: string, limit = FIRES_KEPT): Promise<readonly Fire[]> {
    whole('limit', limit, 1, FIRES_KEPT);
    const lines = await this.#deps.store.triggerFires({ name: checkName('schedule', name), limit });
    return [...(await this.#fires(lines)).values()];
  }

  /** It fires no more until it is resumed, and what it would have fired meanwhile is not missed. */
  async pause(name: string): Promise<void> {
    if (!(await this.#deps.store.triggerPause({ name: checkName('schedule', name) }))) await this.#refuse(name);
  }

  /** It goes on with the first fire time from now on. */
  async resume(name: string): Promise<void> {
    for (let i = 0; i < TRIES; i++) {
      const record = await this.#find(name);
      if (record.workflow !== undefined) throw ofWorkflow(name, record);
      if (record.heldAt === undefined) return;
      const { cron, timezone } = record;
      const nextAt = await this.#resumption(record);
      if (await this.#deps.store.triggerResume({ name, cron, timezone, nextAt })) return;
    }
    throw fault('CONFLICT', { problem: `the schedule ${name} is being changed all the time` });
  }

  /** Pushes its task now; the fire times stay as they are. */
  async run(name: string): Promise<Pushed> {
    const record = await this.#find(name);
    const { lane, spec, priority, maxTries } = record;
    const { calendar } = await this.#deps.store.clock();
    const { payload, run } = firingOf(record, calendar);
    const item = { lane, spec, priority, maxTries, payload };
    const answer = await this.#deps.store.triggerRun({ name, item, run });
    if (answer === undefined) throw missing(name);
    if (!answer.ok)
      throw 'limit' in answer ? fault('LIMIT_REACHED', { limit: answer.limit, key: answer.key }) : fault('CONFLICT');
    return this.#deps.tasks.pushed([item], [answer])[0] as Pushed;
  }

  /** A new schedule has a fire time ahead of it. One that has ended may be put again as it is. */
  async #firstTime(name: string, expression: string, timezone: string): Promise<number> {
    const { calendar } = await this.#deps.store.clock();
    const nextAt = fireTimesOf(expression, timezone)(calendar);
    if (nextAt !== undefined) return nextAt;
    const before = await this.#deps.store.triggerFind({ name });
    if (before?.cron === expression && before.timezone === timezone) return NEVER;
    throw fault('INVALID_INPUT', { field: 'schedule', problem: `${expression} lies in the past` });
  }

  async #resumption({ cron, timezone, heldAt = NEVER }: TriggerRecord): Promise<number> {
    const { calendar } = await this.#deps.store.clock();
    return Math.max(heldAt, fireTimesOf(cron, timezone)(calendar) ?? NEVER);
  }

  /** It is not there, or it is not one of its own. */
  async #refuse(name: string): Promise<never> {
    throw ofWorkflow(name, await this.#find(name));
  }

  async #find(name: string): Promise<TriggerView> {
    const found = await this.#deps.store.triggerFind({ name: checkName('schedule', name) });
    if (found === undefined) throw missing(name);
    return found;
  }

  async #fires(lines: readonly FireLine[]): Promise<ReadonlyMap<FireLine, Fire>> {
    const tasks = [...new Set(lines.flatMap(({ task }) => task ?? []))];
    const records = tasks.length === 0 ? [] : await this.#deps.store.taskGet({ tasks });
    const byTask = new Map(records.flatMap((record) => (record === undefined ? [] : [[record.task, record] as const])));
    return new Map(
      lines.map((line) => {
        const { slot, ends: before, at, outcome } = line;
        const record = byTask.get(line.task ?? 0);
        const task = record && { id: this.#deps.idOf(record), state: record.state };
        return [line, { slot, before, at, outcome, task }];
      }),
    );
  }
}

function scheduleOf(record: TriggerRecord, last: Fire | undefined): Schedule {
  const { name, queue, handler, payload, priority, maxTries, timezone, missed, nextAt, heldAt, workflow } = record;
  const state = heldAt !== undefined ? 'paused' : nextAt === NEVER ? 'ended' : 'active';
  return {
    name,
    queue,
    handler,
    payload,
    priority,
    maxTries,
    times: timesOf(record.cron),
    timezone,
    missed,
    state,
    nextAt: state === 'active' ? nextAt : undefined,
    last,
    ...(workflow === undefined ? {} : { workflow }),
  };
}

function ofWorkflow(name: string, { workflow }: TriggerRecord): Error {
  const problem = `the schedule ${name} belongs to the workflow ${workflow}, and changes with it`;
  const hint = `"leasehold workflows disable ${workflow}" turns it off, "leasehold workflows apply" changes it.`;
  return fault('CONFLICT', { problem }, { hint });
}

function missing(name: string): Error {
  const hint = '"leasehold schedules list" shows the schedules.';
  return fault('NOT_FOUND', { kind: 'schedule', id: name }, { hint });
}
