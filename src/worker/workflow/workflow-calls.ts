/** What a workflow calls: each call takes its place, and either finds its result in the journal or begins. */
import { type Duration, parseDuration } from '../../core/duration.ts';
import { fault } from '../../core/errors.ts';
import { numberIn, type Place, type PlaceKind } from '../../flow/workflow/workflow-journal.ts';
import type { AnyPushable } from '../define/pushable-task.ts';
import { checkOptions } from '../durable/check-options.ts';
import type { ApprovalRequest, HandlerRef, SpawnOptions } from '../durable/durable-context.ts';
import { ChildCalls } from './child-calls.ts';
import { StepCalls } from './step-calls.ts';
import type { MapOptions, StepRules, WorkflowContext, WorkflowStep } from './workflow-context.ts';
import type { WorkflowRun } from './workflow-run.ts';

const SIGNAL: ReadonlySet<string> = new Set(['timeout']);
const APPROVAL: ReadonlySet<string> = new Set(['title', 'form', 'actions', 'context', 'timeout'] satisfies (
  | keyof ApprovalRequest
  | 'timeout'
)[]);
const MAP: ReadonlySet<string> = new Set(['window', 'name'] satisfies (keyof MapOptions)[]);
const MAP_STEPS: ReadonlySet<string> = new Set([...MAP, 'retry', 'timeout', 'policy']);
const WINDOW = 100;

/** How a wait for somebody came out, as it is stored. */
interface Came {
  readonly outcome: 'woken' | 'timed_out';
  readonly value?: unknown;
}

type Mapped = AnyPushable | ((item: unknown, step: WorkflowStep & { readonly index: number }) => unknown);

/** Its methods may be taken apart: `{ step, child }`. */
export class WorkflowCalls {
  readonly #run: WorkflowRun;
  readonly #steps: StepCalls;
  readonly #children: ChildCalls;

  constructor(run: WorkflowRun) {
    this.#run = run;
    this.#steps = new StepCalls(run);
    this.#children = new ChildCalls(run);
  }

  get id(): string {
    return this.#run.attempt.request.id;
  }

  get attempt(): number {
    return this.#run.attempt.request.attempt;
  }

  get abort(): AbortSignal {
    return this.#run.attempt.signal;
  }

  readonly step = (name: string, fn: (step: WorkflowStep) => unknown, rules: StepRules = {}): Promise<unknown> =>
    this.#steps.call(this.#run.enter('step', name), fn, rules);

  readonly child = (task: AnyPushable | HandlerRef, input?: unknown, options: SpawnOptions = {}): Promise<unknown> =>
    this.#children.call(this.#run.enter('child', options.name ?? handlerOf(task)), { task, input, options });

  readonly map = (
    items: readonly unknown[],
    what: Mapped,
    options: MapOptions & StepRules = {},
  ): Promise<unknown[]> => {
    const mapped = this.#map(items, what, options);
    // A promise that nobody awaits must not end the process.
    mapped.catch(() => {});
    return mapped;
  };

  async #map(items: readonly unknown[], what: Mapped, options: MapOptions & StepRules): Promise<unknown[]> {
    if (!Array.isArray(items)) throw refuse('items of map', 'they must be a list');
    const isStep = typeof what === 'function';
    checkOptions('options of map', options, isStep ? MAP_STEPS : MAP);
    const { window = WINDOW, name = isStep ? 'map' : handlerOf(what), ...rules } = options;
    if (!Number.isSafeInteger(window) || window < 1) throw refuse('window of map', 'it must be a whole number from 1');
    const kind: PlaceKind = isStep ? 'step' : 'child';
    // All places at once: which of them is reached first depends on what has ended before.
    const places = items.map((_, index) => this.#run.enter(kind, `${name}[${index}]`));
    let next = 0;
    const left = (): number => items.length - next;
    const need = (open: number): number => Math.ceil((left() > 0 ? Math.min(open, window) : open) / 2);
    const start = (index: number): Promise<unknown> => {
      const place = places[index] as Place;
      if (!isStep) return this.#children.call(place, { task: what, input: items[index], options: {}, need });
      return this.#steps.call(place, (step) => what(items[index], withIndex(step, index)), rules);
    };
    return inWindow(items.length, window, (index) => {
      next = Math.max(next, index + 1);
      return start(index);
    });
  }

  readonly signal = (name: string, options: { readonly timeout?: Duration } = {}): Promise<unknown> => {
    checkOptions(`options of signal ${name}`, options, SIGNAL);
    const place = this.#run.enter('signal', name);
    return this.#channel(place, options.timeout, { channel: `${this.id}:${name}` });
  };

  readonly approval = (
    name: string,
    request: Partial<ApprovalRequest> & { readonly timeout?: Duration } = {},
  ): Promise<unknown> => {
    checkOptions(`options of approval ${name}`, request, APPROVAL);
    const { timeout, title = name, ...rest } = request;
    const place = this.#run.enter('approval', name);
    const form = { title, ...rest };
    // The node makes a channel of its own of it.
    return this.#channel(place, timeout, { channel: `approval:${this.id}:${place.key}`, form });
  };

  readonly sleep = (duration: Duration): Promise<void> => {
    const ms = parseDuration(duration, 'sleep');
    return this.#sleep(this.#run.enter('sleep', 'sleep'), () => this.#run.world.clock.wall() + ms);
  };

  readonly sleepUntil = (time: number): Promise<void> => {
    if (!Number.isSafeInteger(time) || time < 0) throw refuse('sleepUntil', 'it is a calendar time in milliseconds');
    return this.#sleep(this.#run.enter('sleep', 'sleep'), () => time);
  };

  readonly now = (): number => this.#drawn('now', () => Math.floor(this.#run.world.clock.wall()));

  readonly random = (): number => this.#drawn('random', this.#run.world.random);

  readonly log = (message: string): void => {
    const { key } = this.#run.enter('log', 'log');
    if (this.#run.notes.has(key)) return;
    this.#run.note({ what: key, kind: 'mark', value: true });
    this.#run.attempt.log(message);
  };

  #drawn(kind: 'now' | 'random', make: () => number): number {
    const { key } = this.#run.enter(kind, kind);
    const known = this.#run.notes.get(key);
    if (known !== undefined) return numberIn(known);
    const value = make();
    this.#run.note({ what: key, kind: 'value', value });
    return value;
  }

  #sleep(place: Place, dueOf: () => number): Promise<void> {
    const { key } = place;
    return this.#run.call<void>(place, {
      read: () => undefined,
      begin: (settle) =>
        this.#run.waits.add({
          key,
          due: dueAt(this.#run, key, dueOf),
          end: () => settle.done({ what: key, kind: 'wait', value: { outcome: 'woken' } }, undefined),
        }),
    });
  }

  #channel(
    place: Place,
    timeout: Duration | undefined,
    what: { readonly channel: string; readonly form?: unknown },
  ): Promise<unknown> {
    const { key } = place;
    const ms = timeout === undefined ? undefined : parseDuration(timeout, 'timeout');
    return this.#run.call<unknown>(place, {
      read: (text) => valueOf(JSON.parse(text ?? 'null') as Came),
      begin: (settle) =>
        this.#run.waits.add({
          key,
          ...what,
          due: ms === undefined ? undefined : dueAt(this.#run, key, () => this.#run.world.clock.wall() + ms),
          end: (came) => {
            const body = came !== undefined && 'body' in came ? (came.body ?? 'null') : undefined;
            const value: Came =
              body === undefined ? { outcome: 'timed_out' } : { outcome: 'woken', value: JSON.parse(body) as unknown };
            settle.done({ what: key, kind: 'wait', value }, valueOf(value));
          },
        }),
    });
  }
}

/** The types of users say more than those of the calls. */
export function workflowContext(run: WorkflowRun): WorkflowContext {
  return new WorkflowCalls(run) as unknown as WorkflowContext;
}

/** When a wait ends, by what was noted when it began. */
export function dueAt(run: WorkflowRun, key: string, dueOf: () => number): number {
  const known = run.notes.get(`due:${key}`);
  if (known !== undefined) return numberIn(known);
  const due = Math.ceil(dueOf());
  run.note({ what: `due:${key}`, kind: 'mark', value: due });
  return due;
}

function valueOf(came: Came | null): unknown {
  return came?.outcome === 'woken' ? (came.value ?? null) : undefined;
}

function handlerOf(task: AnyPushable | HandlerRef): string {
  return 'handler' in task ? task.handler : task.name;
}

function withIndex(step: WorkflowStep, index: number): WorkflowStep & { readonly index: number } {
  // Its signal stays as lazy as it is.
  return Object.assign(Object.create(step) as WorkflowStep, { index });
}

/** So many at once, begun in their order. */
async function inWindow(count: number, window: number, start: (index: number) => Promise<unknown>): Promise<unknown[]> {
  const results = Array.from<unknown>({ length: count });
  let next = 0;
  let failed = false;
  const lane = async (): Promise<void> => {
    while (next < count && !failed) {
      const index = next++;
      try {
        results[index] = await start(index);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(window, count) }, lane));
  return results;
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}
