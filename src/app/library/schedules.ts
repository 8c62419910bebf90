/** Schedules for programs, on a store or on a node. */
import { fault, isEngineError } from '../../core/errors.ts';
import type { MissedPolicy } from '../../core/schedule/due.ts';
import type { ScheduleTimes } from '../../core/schedule/expression.ts';
import { checkOptions } from '../../engine/check.ts';
import type { Caller } from '../../operate/operator.ts';
import type { ScheduleDetailView, ScheduleView } from '../../operate/views.ts';
import type { RequestOf } from '../../protocol/paths.ts';
import type { AnyTask } from '../../worker/define/definition.ts';
import type { InputOf } from '../../worker/define/pushable-task.ts';
import { type PushOptions, pushOf } from './pushing.ts';

/** A task, and when it is pushed: one of `cron`, `every`, `at`, `daily`, `weekly` and `monthly`. */
export type ScheduleOptions<T extends AnyTask> = ScheduleTimes &
  Pick<PushOptions, 'queue' | 'priority' | 'maxAttempts' | 'placement' | 'limits' | 'fairness' | 'permissions'> & {
    readonly task: T;
    /** The clocks that it follows, by an IANA name; default UTC. */
    readonly timezone?: string | undefined;
    /** What becomes of fire times that passed while nobody could fire them; default `latest`. */
    readonly missed?: MissedPolicy | undefined;
  } & (undefined extends InputOf<T> ? { readonly input?: InputOf<T> } : { readonly input: InputOf<T> });

/** Schedules by name. `app.schedule` makes them. */
export interface AppSchedules {
  list(): Promise<readonly ScheduleView[]>;
  /** With its next fire times and its history. Undefined: there is no such schedule. */
  get(name: string, options?: { readonly next?: number | undefined }): Promise<ScheduleDetailView | undefined>;
  /** It fires nothing until it is resumed, and misses nothing. */
  pause(name: string): Promise<ScheduleView>;
  resume(name: string): Promise<ScheduleView>;
  /** Pushes its task now; answers the id of the task, which `app.handle` follows. */
  run(name: string): Promise<string>;
  /** With its history. Its tasks stay. */
  remove(name: string): Promise<void>;
}

const TIMES = ['cron', 'every', 'from', 'at', 'daily', 'weekly', 'monthly', 'timezone', 'missed'] as const;
const PUSH = ['queue', 'priority', 'maxAttempts', 'placement', 'limits', 'fairness', 'permissions'] as const;
const KNOWN: ReadonlySet<string> = new Set([...TIMES, ...PUSH, 'task', 'input']);

export class CalledSchedules implements AppSchedules {
  readonly #caller: () => Promise<Caller>;

  /** A program that has no schedule need not load what answers it. */
  constructor(caller: () => Promise<Caller>) {
    this.#caller = caller;
  }

  async put<T extends AnyTask>(name: string, options: ScheduleOptions<T>): Promise<ScheduleView> {
    checkOptions('schedule', options, KNOWN);
    const { task, input } = options;
    for (const option of ['reuse', 'waitTimeoutMs'] as const) {
      if (task[option] === undefined) continue;
      throw fault('INVALID_INPUT', { field: 'task', problem: `a schedule cannot push a task that has ${option}` });
    }
    const { waitTimeout: _wait, reuse: _reuse, ...request } = await pushOf(task, input, only(options, PUSH));
    const caller = await this.#caller();
    // The shape of the route says what is mutable in it; nothing changes it.
    const body = { name, ...defined(request), ...only(options, TIMES) } as unknown as RequestOf<'putSchedule'>;
    return caller.call('putSchedule', { body });
  }

  async list(): Promise<readonly ScheduleView[]> {
    return (await (await this.#caller()).call('listSchedules')).schedules;
  }

  async get(name: string, { next }: { readonly next?: number | undefined } = {}): ReturnType<AppSchedules['get']> {
    try {
      const query = next === undefined ? {} : { next };
      return await (await this.#caller()).call('getSchedule', { params: { name }, query });
    } catch (error) {
      if (isEngineError(error, 'NOT_FOUND')) return undefined;
      throw error;
    }
  }

  async pause(name: string): Promise<ScheduleView> {
    return (await this.#caller()).call('pauseSchedule', { params: { name } });
  }

  async resume(name: string): Promise<ScheduleView> {
    return (await this.#caller()).call('resumeSchedule', { params: { name } });
  }

  async run(name: string): Promise<string> {
    return (await (await this.#caller()).call('runSchedule', { params: { name } })).id;
  }

  async remove(name: string): Promise<void> {
    await (await this.#caller()).call('removeSchedule', { params: { name } });
  }
}

function only<T extends object, K extends keyof T>(from: T, keys: readonly K[]): Pick<T, K> {
  return defined(Object.fromEntries(keys.map((key) => [key, from[key]]))) as Pick<T, K>;
}

function defined<T extends object>(from: T): T {
  return Object.fromEntries(Object.entries(from).filter(([, value]) => value !== undefined)) as T;
}
