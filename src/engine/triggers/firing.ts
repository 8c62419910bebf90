import { createHash } from 'node:crypto';
import { fault, isEngineError } from '../../core/errors.ts';
import { checkRunTitle } from '../../core/graph/run.ts';
import { inputOf } from '../../core/trigger/told.ts';
import { MOST_LINKS, MOST_RUN_NAME, type Trigger, type TriggerOutcome } from '../../core/trigger/trigger.ts';
import type { World } from '../../core/world.ts';
import type { ReactionDelivery } from '../../store/store.ts';
import type { PushRequest } from '../push/push.ts';
import type { TaskInterner } from '../push/pushes.ts';
import { checkBudgets } from '../trees/budgets.ts';
import { fingerprintOf, readDefinition } from '../trees/runs.ts';
import type { TriggerHost } from './trigger-host.ts';

/** Something that a trigger listens to has happened. */
export interface Happening {
  /** The same twice is one delivery. Undefined: each is one. */
  readonly key: string | undefined;
  readonly version?: string | undefined;
  /** How long it may come again. */
  readonly keepMs: number;
  /** In a few words, for the history. */
  readonly about: string;
  /** What the action is told. */
  readonly told: unknown;
  /** How many triggers led to it. */
  readonly links?: number | undefined;
}

export interface Planned {
  readonly delivery: ReactionDelivery;
  /** Why there is no task. */
  readonly error: Error | undefined;
}

export interface FiringDeps {
  readonly tasks: TaskInterner;
  readonly host: TriggerHost | undefined;
  readonly world: World;
}

/** A check that takes longer is told as one that failed, and goes on by itself. */
const CHECK_MS = 30_000;
const MOST_ABOUT = 200;
const MOST_DETAIL = 500;

/** The queue of a run that a process of its own, or the loop of this one, executes. */
export function ownQueue({ name }: Pick<Trigger, 'name'>): string {
  return `trigger.${name}`;
}

/** The queue that a trigger's own executor serves; undefined: workers do. */
export function servedQueue(
  trigger: Trigger,
): { readonly execution: 'loop' | 'process'; readonly queue: string } | undefined {
  const { execution, run } = trigger;
  if (execution !== 'loop' && execution !== 'process') return undefined;
  const { queue = ownQueue(trigger) } = run as { readonly queue?: string };
  return { execution, queue };
}

/** Makes the deliveries of what has happened. Everything that could be refused is looked at here, before the store writes. */
export class Firing {
  readonly #deps: FiringDeps;

  constructor(deps: FiringDeps) {
    this.#deps = deps;
  }

  /** `byHand`: what is told was given by somebody, for whatever kind of trigger. */
  async plan(trigger: Trigger, what: Happening, byHand = false): Promise<Planned> {
    const { key, version, keepMs, links = 0 } = what;
    const about = what.about.slice(0, MOST_ABOUT);
    const base = { key, version, keepMs, about };
    if (links >= MOST_LINKS) {
      const detail = `${links} triggers led to this one: a circle, which ends here`;
      return { delivery: { ...base, outcome: 'stopped', detail }, error: undefined };
    }
    if (trigger.check !== undefined) return { delivery: { ...base, outcome: 'accepted' }, error: undefined };
    try {
      const input = inputOf(byHand ? { ...trigger, kind: 'manual' } : trigger, what.told);
      return {
        delivery: { ...base, outcome: 'pushed', links: links + 1, ...(await this.act(trigger, input, runKey(what))) },
        error: undefined,
      };
    } catch (error) {
      if (isEngineError(error) && error.retryable) throw error;
      // It may come again when somebody has put it right, so its key is not taken.
      return {
        delivery: { ...base, key: undefined, outcome: 'failed', detail: wordsOf(error) },
        error: error as Error,
      };
    }
  }

  /** The task of an action, and its run, which is called after the key of its delivery. */
  async act(
    trigger: Trigger,
    input: unknown,
    key?: string,
  ): Promise<Pick<ReactionDelivery, 'item' | 'run' | 'definition' | 'budgets'>> {
    const { push, run } = trigger;
    if (push !== undefined) {
      const task = push as Omit<PushRequest, 'handler'> & { readonly handler?: string };
      return { item: await this.#deps.tasks.place({ ...task, handler: task.handler ?? task.queue, input }) };
    }
    const served = servedQueue(trigger);
    const given = run as { readonly name?: unknown };
    const name = given.name === undefined ? {} : { name: this.#runName(given.name, key) };
    const wish = { ...given, ...name, ...(served === undefined ? {} : { queue: served.queue }) };
    const start = await this.#host().plan(wish, input);
    const item = await this.#deps.tasks.place(start.request);
    const definition = start.definition === undefined ? undefined : readDefinition(start.definition);
    const title = checkRunTitle(start.run);
    const budgets = start.budgets === undefined ? undefined : checkBudgets(start.budgets);
    const fingerprint = fingerprintOf(start.request.handler, definition?.hash, item.payload);
    return {
      item,
      run: { ...title, fingerprint, definition: definition?.hash },
      definition: definition?.text,
      budgets,
    };
  }

  /** One that comes again leads to the same run. A delivery without a key is like no other. */
  #runName(name: unknown, key = String(this.#deps.world.random())): string {
    if (typeof name !== 'string' || name === '' || name.length > MOST_RUN_NAME)
      throw fault('INVALID_INPUT', { field: 'run.name', problem: `it is a text of 1 to ${MOST_RUN_NAME} characters` });
    return `${name}:${/^[\x20-\x7e]{1,150}$/.test(key) ? key : createHash('sha256').update(key).digest('hex')}`;
  }

  /** Never rejects: what went wrong is told. */
  async check(
    trigger: Trigger,
    told: unknown,
    byHand = false,
  ): Promise<{ readonly outcome: TriggerOutcome; readonly detail?: string }> {
    const input = inputOf(byHand ? { ...trigger, kind: 'manual' } : trigger, told);
    let cancel = (): void => {};
    try {
      const late = new Promise<never>((_, reject) => {
        cancel = this.#deps.world.timers.after(
          CHECK_MS,
          () => reject(fault('TIMEOUT', { action: `check of the pool ${trigger.check}` })),
          { unref: true },
        );
      });
      const answer = await Promise.race([this.#host().check(trigger.check as string, input), late]);
      return {
        outcome: 'done',
        ...(answer === undefined ? {} : { detail: JSON.stringify(answer).slice(0, MOST_DETAIL) }),
      };
    } catch (error) {
      return { outcome: 'failed', detail: wordsOf(error) };
    } finally {
      cancel();
    }
  }

  serve(trigger: Trigger): void {
    const served = servedQueue(trigger);
    if (served !== undefined) this.#deps.host?.serve(served.execution, served.queue);
  }

  #host(): TriggerHost {
    if (this.#deps.host !== undefined) return this.#deps.host;
    const hint = 'Open the store with "open" or "leasehold up", which start runs and look after pools.';
    throw fault('CONFLICT', { problem: 'this process only pushes tasks from triggers' }, { hint });
  }
}

/** The same key with another version is another delivery. */
function runKey({ key, version }: Happening): string | undefined {
  return key === undefined || version === undefined ? key : `${key}@${version}`;
}

function wordsOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, MOST_DETAIL);
}
