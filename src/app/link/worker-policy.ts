import { fault } from '../../core/errors.ts';
import { type LimitUse, normalizeUses, type Strategy } from '../../core/limits/limit.ts';
import {
  isGuarded,
  type PermissionKind,
  type Permissions,
  permits,
  permitsHandler,
} from '../../core/placement/permissions.ts';
import { parseTest, passes, readTag } from '../../core/placement/tag.ts';
import type { WorkerGrant } from '../../core/placement/worker-grant.ts';
import { shellWord } from '../../core/shell-word.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ChildRequest, TurnEntry, TurnThen } from '../../protocol/link.ts';
import type { LaneRules, TaskRecord } from '../../store/store.ts';

/** What was given to the name of a worker. */
export interface GivenToName {
  readonly tags: readonly string[];
  readonly grant: WorkerGrant;
}

/** The task that a worker runs. */
export interface HeldTask {
  readonly task: number;
  readonly id: string;
  readonly queue: string;
  readonly handler: string;
  readonly spec: number;
  readonly lane: number;
}

export interface WorkerPolicyDeps {
  readonly engine: Engine;
  readonly name: string;
  /** The handlers that the worker said it runs. */
  readonly handlers: readonly string[];
  readonly givenTo: (name: string) => Promise<GivenToName>;
}

/** The permissions that hold: of the name, and of the run. */
interface Held {
  readonly held: HeldTask;
  readonly given: GivenToName;
  readonly permissions: readonly Permissions[];
}

/**
 * What a joined worker may do to others with a task that it runs. It may spawn what it may run, in the queue of that task, and use
 * channels that begin with the handler that was pushed or granted, or with the id of that task or its run. Everything else is granted to
 * its name, or by whoever pushed the run.
 */
export class WorkerPolicy {
  readonly #deps: WorkerPolicyDeps;
  #ending: { readonly at: number; readonly names: Promise<ReadonlySet<string>> } | undefined;

  constructor(deps: WorkerPolicyDeps) {
    this.#deps = deps;
  }

  /** Whether a turn does something to others. Most do not, and cost no read. */
  static concerns(entries: readonly TurnEntry[], then: TurnThen): boolean {
    return (
      (then.go === 'park' && asksChannel(then)) || entries.some(({ kind }) => kind === 'child' || kind === 'signal')
    );
  }

  /** Refuses what the worker may not do, and answers the entries as they are to be written. */
  async check(held: HeldTask, entries: readonly TurnEntry[], then: TurnThen): Promise<readonly TurnEntry[]> {
    const { engine, name, givenTo } = this.#deps;
    const given = await givenTo(name);
    const ofRun = await engine.permissionsOf(held.spec);
    const permissions = [given.grant.permissions, ofRun].filter((one) => one !== undefined);
    const all: Held = { held, given, permissions };
    if (then.go === 'park' && asksChannel(then)) await this.#checkChannel(all, 'waits', then.channel as string);
    const checked: TurnEntry[] = [];
    for (const entry of entries) {
      if (entry.kind === 'signal') await this.#checkChannel(all, 'channels', entry.channel);
      checked.push(entry.kind === 'child' ? { ...entry, child: await this.#child(all, entry.child) } : entry);
    }
    return checked;
  }

  /** A task that names no queue has that of its own name, without the version of a workflow: who may spawn the handler may use that queue. */
  async #child(all: Held, child: ChildRequest): Promise<ChildRequest> {
    const { handler, queue } = child;
    if (!this.#maySpawn(all, handler)) throw this.#refuse('spawn the handler', handler, 'handlers');
    if (queue !== handler.replace(/@[^@]*$/, '') && !this.#mayUseQueue(all, queue))
      throw this.#refuse('spawn into the queue', queue, 'queues');
    await this.#checkPlacement(all, child);
    await this.#checkLimits(all, child);
    const shares = all.permissions.some(({ reuse }) => reuse === true);
    if (child.reuse !== undefined && child.reuse !== false && !shares) {
      throw this.#refuse('let children take over results of other tasks', undefined, 'reuse');
    }
    // The whole point of an unpermitted key is that it means nothing to others.
    return child.unique === undefined || shares ? child : { ...child, unique: this.#ownKey(child.unique) };
  }

  #maySpawn({ held, given, permissions }: Held, handler: string): boolean {
    const { handlers } = given.grant;
    if (handlers?.includes(handler)) return true;
    if (permissions.some((one) => permitsHandler(one.handlers, handler))) return true;
    if (isGuarded(handler)) return false;
    // A name without handlers of its own may run whatever it offers, and spawn the same.
    return handler === held.handler || (handlers === undefined && this.#deps.handlers.includes(handler));
  }

  #mayUseQueue({ held, given, permissions }: Held, queue: string): boolean {
    if (queue === held.queue || given.grant.queues?.includes(queue)) return true;
    return permissions.some(({ queues }) => permits(queues, queue));
  }

  async #checkPlacement({ held, given, permissions }: Held, { placement }: ChildRequest): Promise<void> {
    if (placement === undefined) return;
    const { requires = [], credentials = [], only = [] } = placement;
    const stranger = only.find(
      (name) => name !== this.#deps.name && !permissions.some((one) => permits(one.workers, name)),
    );
    if (stranger !== undefined) throw this.#refuse('ask for the worker', stranger, 'workers');
    const tests = [...requires, ...credentials.map((name) => `credential:${name}`)];
    if (tests.length === 0) return;
    const own = given.tags.map(readTag);
    const open = tests.filter(
      (test) => !passes(parseTest('tag', test), own) && !permissions.some((one) => permits(one.tags, test)),
    );
    if (open.length === 0) return;
    const inherited = (await this.#rulesOf(held))?.placement.requires ?? [];
    const wrong = open.find((test) => !inherited.includes(test));
    if (wrong !== undefined) throw this.#refuse('require the tag', wrong, 'tags');
  }

  /** What the task itself takes its children may take: as much, under the same key, and never so that tasks of others end for it. */
  async #checkLimits({ held, permissions }: Held, { limits = [] }: ChildRequest): Promise<void> {
    const open = normalizeUses(limits).filter(({ name }) => !permissions.some((one) => permits(one.limits, name)));
    if (open.length === 0) return;
    const inherited = (await this.#rulesOf(held))?.limits ?? [];
    const wrong = open.find((use) => !inherited.some((own) => isWithin(use, own)));
    if (wrong !== undefined) {
      const beyond = inherited.some(({ name }) => name === wrong.name) ? ' more, or under another key,' : '';
      throw this.#refuse(`take${beyond} from the limit`, wrong.name, 'limits');
    }
    const ending = await this.#endingOthers();
    const deadly = open.find(({ name }) => ending.has(name));
    if (deadly !== undefined) throw this.#refuse('end other tasks by the limit', deadly.name, 'limits');
  }

  /** The limits that end tasks for new ones, as they were less than a second ago: one turn may have hundreds of children. */
  #endingOthers(): Promise<ReadonlySet<string>> {
    const { limits, world } = this.#deps.engine;
    const now = world.clock.monotonic();
    if (this.#ending !== undefined && now - this.#ending.at < KNOWN_MS) return this.#ending.names;
    const names = limits
      .list()
      .then((all) => new Set(all.filter(({ limit }) => ENDS_OTHERS.has(limit.strategy)).map(({ name }) => name)));
    this.#ending = { at: now, names };
    names.catch(() => (this.#ending = undefined));
    return names;
  }

  /**
   * The name of a handler stands for channels where somebody else chose it: it was granted, or the run began with it. A worker without a
   * grant offers and spawns handlers of any name.
   */
  async #checkChannel({ held, given, permissions }: Held, act: 'waits' | 'channels', channel: string): Promise<void> {
    const isOf = (name: string): boolean => channel === name || channel.startsWith(`${name}:`);
    if (isOf(held.id) || permissions.some(({ channels }) => permits(channels, channel))) return;
    // Whoever waits for the answer of a person need not be able to give it.
    if (act === 'waits' && permissions.some(({ waits }) => permits(waits, channel))) return;
    const ofHandler = isOf(held.handler);
    if (ofHandler && given.grant.handlers?.includes(held.handler)) return;
    const pushed = await this.#pushed(held);
    if (pushed !== undefined) {
      if (ofHandler && pushed.handler === held.handler) return;
      if (isOf(this.#deps.engine.idOf(pushed))) return;
    }
    throw this.#refuse(act === 'waits' ? 'wait on the channel' : 'signal the channel', channel, act);
  }

  #ownKey(unique: NonNullable<ChildRequest['unique']>): NonNullable<ChildRequest['unique']> {
    const own = (key: string): string => `worker:${this.#deps.name}:${key}`;
    return typeof unique === 'string' ? own(unique) : { ...unique, key: own(unique.key) };
  }

  /** The task that somebody outside pushed, which the run began with. */
  async #pushed({ task }: HeldTask): Promise<TaskRecord | undefined> {
    const { engine } = this.#deps;
    const record = await engine.get(task);
    return record?.root === undefined ? record : engine.get(record.root);
  }

  async #rulesOf({ lane }: HeldTask): Promise<LaneRules | undefined> {
    const [found] = await this.#deps.engine.store.laneGet({ lanes: [lane] });
    return found?.rules;
  }

  #refuse(what: string, name: string | undefined, kind: PermissionKind | 'reuse'): Error {
    const { name: worker } = this.#deps;
    const shown = name === undefined ? '' : ` ${JSON.stringify(name)}`;
    const flag = name === undefined ? '--reuse' : `--${kind.slice(0, -1)} ${shellWord(name)}`;
    return fault(
      'FORBIDDEN',
      { problem: `the worker ${worker} may not ${what}${shown}` },
      {
        hint: `"leasehold workers permit ${shellWord(worker)} ${flag}" permits it to the worker; "permissions" of a push permit it to a run.`,
      },
    );
  }
}

const KNOWN_MS = 1000;

/** A push into these ends tasks that were there before. */
const ENDS_OTHERS: ReadonlySet<Strategy> = new Set(['cancel_oldest', 'replace_pending']);

function isWithin(use: LimitUse, own: LimitUse): boolean {
  return use.name === own.name && use.key === own.key && use.weight <= own.weight && use.cost <= own.cost;
}

/** An approval has a channel that the node makes. */
function asksChannel(then: TurnThen & { readonly go: 'park' }): boolean {
  return then.channel !== undefined && then.form === undefined;
}
