import { randomUUID } from 'node:crypto';
import { environment } from '../config/environment.ts';
import { type Duration, parseDuration } from '../core/duration.ts';
import { fault } from '../core/errors.ts';
import { checkName } from '../core/names.ts';
import type { World } from '../core/world.ts';
import { checkOptions, whole } from '../engine/check.ts';
import type { Log } from '../engine/log.ts';
import type { Link } from '../protocol/link.ts';
import type { AnyTask } from '../worker/define/definition.ts';
import { InlineRunner } from '../worker/runner/inline-runner.ts';
import { LazyRunner } from '../worker/runner/lazy-runner.ts';
import { ProcessRunner } from '../worker/runner/process/process-runner.ts';
import { guardPrograms } from '../worker/runner/process/program-guard.ts';
import type { Ladder, Runner } from '../worker/runner/runner.ts';
import { GuardedRunner } from '../worker/signing/guarded-runner.ts';
import { type Demands, TaskGate } from '../worker/signing/task-gate.ts';
import type { Vault } from '../worker/vault/vault.ts';
import { Worker } from '../worker/worker.ts';
import type { WorkerOptions } from '../worker/worker-options.ts';
import { type WorkspaceOptions, workspaceSettings } from './workspaces/worker-settings.ts';

export interface AppWorkerOptions {
  readonly tasks: readonly AnyTask[];
  /** Handlers that run at once; default 8. */
  readonly slots?: number;
  readonly tags?: readonly string[];
  /** A worker with a higher priority gets work first; default 0. */
  readonly priority?: number;
  /** The version that placement checks: `1.4.2`. */
  readonly version?: string;
  /** Only these queues; default all. */
  readonly queues?: readonly string[];
  /** The ticket that its pool has started it with. */
  readonly ticket?: string;
  /** The name that people see; default host and process id. */
  readonly name?: string;
  /** Modules that export tasks: each runs in a child process. */
  readonly modules?: readonly string[];
  /** The same for a module whose tasks are known: it is loaded for the first of its runs. */
  readonly known?: KnownModule;
  /** Claims one task, runs it, and ends. */
  readonly once?: boolean;
  /** Ends after this long without a task. */
  readonly idleExit?: Duration;
  /** The most tasks that are claimed beyond the slots, when they are short; default 250, 0 for none. */
  readonly lookahead?: number;
  /** From the abort signal to SIGTERM; default 2 s. */
  readonly abortGrace?: Duration;
  /** From SIGTERM to SIGKILL; default 2 s. */
  readonly killGrace?: Duration;
  /** How long a blocked loop keeps the leases of runs without a timeout; default 10 min. */
  readonly maxBlock?: Duration;
  /** The environment of child processes; default that of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Called for every task that leaves the worker. */
  readonly onSettled?: NonNullable<WorkerOptions['onSettled']>;
  /** What it demands of every task before it runs it, whoever gives it; default nothing. */
  readonly demands?: Demands;
  /** How long storing or fetching an artifact is tried again while its place is out of reach; default 5 min. */
  readonly artifactPatience?: Duration;
  /** What a text, bytes or a stream may hold that is stored as an artifact, in bytes; default 8 GiB. A file has no such bound. */
  readonly artifactSpool?: number;
  /** Where and how it makes workspaces. Default: only if one of `tasks` asks for one; tasks of `modules` are not known before they are loaded. */
  readonly workspaces?: WorkspaceOptions;
}

/** What a worker of a pool is made of; the rest is said by the pool. */
export type PoolWorkerOptions = Omit<
  AppWorkerOptions,
  'slots' | 'tags' | 'queues' | 'name' | 'ticket' | 'once' | 'idleExit'
>;

export interface KnownModule {
  readonly module: string;
  /** The names of its tasks. What their input looks like is not announced: only a process that has loaded them knows. */
  readonly handlers: readonly string[];
}

const KNOWN: ReadonlySet<string> = new Set([
  'tasks',
  'slots',
  'tags',
  'priority',
  'version',
  'queues',
  'ticket',
  'name',
  'modules',
  'known',
  'once',
  'idleExit',
  'lookahead',
  'abortGrace',
  'killGrace',
  'maxBlock',
  'env',
  'onSettled',
  'demands',
  'artifactPatience',
  'artifactSpool',
  'workspaces',
] satisfies (keyof AppWorkerOptions)[]);

const MAX_SLOTS = 10_000;
const DEFAULT_SLOTS = 8;
const DEFAULT_GRACE_MS = 2000;

export interface WorkerParts {
  readonly link: Link;
  readonly world: World;
  readonly log: Log;
  readonly name: string;
  /** Opens the place for credentials. */
  readonly vault?: (() => Promise<Vault>) | undefined;
  readonly upgrades?: Pick<WorkerOptions, 'release' | 'onUpgrade'> | undefined;
  /** It is joined to a node: that knows its tags by its name. */
  readonly joined?: boolean;
}

/** Makes a worker from tasks: inline functions run in its loop, the others in child processes. */
export function makeWorker(options: AppWorkerOptions, parts: WorkerParts): Worker {
  checkOptions('worker options', options, KNOWN);
  const { modules = [], known, queues, once = false } = options;
  const tasks = withBrought(options.tasks);
  const tags = tagsOf(options.tags, tasks);
  const workspaces = workspaceSettings(options);
  const asked = whole('slots', options.slots ?? DEFAULT_SLOTS, 1, MAX_SLOTS);
  // A second child would never run anything.
  const slots = once ? 1 : asked;
  const incarnation = randomUUID();
  const inline = tasks.filter(({ isolation, givesWay }) => isolation === 'inline' && givesWay !== true);
  const last = tasks.filter(({ isolation, givesWay }) => isolation === 'inline' && givesWay === true);
  const isolated = tasks.filter(({ isolation }) => isolation === 'process');
  let runnersMade = 0;
  const children: MakeChildren = (found, spares = once ? 0 : undefined) =>
    new ProcessRunner({
      modules: found,
      slots,
      // Each runner ends the processes that carry its own mark, and none of the others.
      incarnation: `${incarnation}.${++runnersMade}`,
      env: options.env ?? environment(),
      log: parts.log,
      ...(spares === undefined ? {} : { spares }),
    });
  const runners: Runner[] = [];
  if (inline.length + last.length > 0)
    guardPrograms({ path: environment().PATH, warn: (message, fields) => parts.log.warn(message, fields) });
  if (inline.length > 0) runners.push(new InlineRunner(inline, parts.world.timers));
  if (isolated.length > 0) runners.push(fromModules(isolated, children));
  if (modules.length > 0) runners.push(children(modules));
  if (known !== undefined) runners.push(fromKnown(known, children));
  // The first runner that knows a handler runs it.
  if (last.length > 0) runners.push(new InlineRunner(last, parts.world.timers));
  const guarded = guardFor(options.demands, parts.world);
  const shielded = inline.filter(({ module }) => module !== undefined);
  return new Worker({
    link: parts.link,
    world: parts.world,
    log: parts.log,
    name: options.name === undefined ? parts.name : checkName('worker name', options.name),
    incarnation,
    runners: runners.map(guarded),
    ...(shielded.length === 0 ? {} : { suspectRunner: guarded(shieldOf(shielded, children)) }),
    slots,
    ladder: ladderOf(options),
    ...(tags === undefined ? {} : { tags }),
    ...(options.priority === undefined ? {} : { priority: options.priority }),
    ...(options.version === undefined ? {} : { version: options.version }),
    ...(queues === undefined ? {} : { queues }),
    ...(options.ticket === undefined ? {} : { ticket: options.ticket }),
    ...parts.upgrades,
    ...(workspaces === undefined
      ? {}
      : { workspaces: { ...workspaces, untagged: workspaces.untagged === true || parts.joined === true } }),
    ...(parts.vault === undefined ? {} : { vault: parts.vault, path: environment().PATH }),
    ...(options.artifactSpool === undefined
      ? {}
      : {
          artifactFiles: { maxSpoolBytes: whole('artifactSpool', options.artifactSpool, 1, Number.MAX_SAFE_INTEGER) },
        }),
    ...(once ? { once } : {}),
    ...(options.idleExit === undefined ? {} : { idleExitMs: parseDuration(options.idleExit, 'idleExit') }),
    ...(options.lookahead === undefined ? {} : { lookahead: whole('lookahead', options.lookahead, 0, 10_000) }),
    ...(options.onSettled === undefined ? {} : { onSettled: options.onSettled }),
    ...(options.maxBlock === undefined ? {} : { maxBlockMs: parseDuration(options.maxBlock, 'maxBlock') }),
  } satisfies WorkerOptions);
}

/** Every runner asks first: there is no way to a handler around it. */
function guardFor(demands: Demands | undefined, world: World): (runner: Runner) => Runner {
  if (demands === undefined) return (runner) => runner;
  const gate = new TaskGate(demands, world.clock.wall);
  return (runner) => new GuardedRunner(runner, gate);
}

/** Its own, and those that its tasks bring. */
function tagsOf(tags: AppWorkerOptions['tags'], tasks: readonly AnyTask[]): readonly string[] | undefined {
  const brought = tasks.flatMap(({ workerTags = [] }) => workerTags);
  return brought.length === 0 ? tags : [...new Set([...(tags ?? []), ...brought])];
}

type MakeChildren = (modules: readonly string[] | Readonly<Record<string, string>>, spares?: number) => Runner;

/** An inline task with a module moves out of the worker's process once it is suspected to kill it. */
function shieldOf(tasks: readonly AnyTask[], children: MakeChildren): Runner {
  return new LazyRunner({
    handlers: tasks.map(nameOf),
    isolates: true,
    timeoutMs: (handler) => tasks.find(({ name }) => name === handler)?.timeoutMs,
    make: () => children(modulesOf(tasks), 0),
  });
}

/** A task that no child process could import is refused when the worker starts. */
function fromModules(tasks: readonly AnyTask[], children: MakeChildren): Runner {
  if (tasks.every(({ module }) => module !== undefined)) return children(modulesOf(tasks));
  return new LazyRunner({
    handlers: tasks.map(nameOf),
    isolates: true,
    check: () => void modulesOf(tasks),
    make: () => children(modulesOf(tasks)),
  });
}

/** Nothing is started before a task is there: a worker for one task claims it before it has paid for a process. */
function fromKnown({ module, handlers }: KnownModule, children: MakeChildren): Runner {
  return new LazyRunner({
    handlers,
    isolates: true,
    make: () => children([module]),
  });
}

function modulesOf(tasks: readonly AnyTask[]): Readonly<Record<string, string>> {
  return Object.fromEntries(tasks.map((task) => [task.name, moduleOf(task)]));
}

function nameOf({ name }: AnyTask): string {
  return name;
}

/** The tasks of a worker, and those that they bring. */
function withBrought(tasks: readonly AnyTask[]): readonly AnyTask[] {
  checkTasks(tasks);
  const all = tasks.flatMap((one) => [one, ...(one.brings ?? [])]);
  checkTasks(all);
  return all;
}

function checkTasks(tasks: readonly AnyTask[]): void {
  if (!Array.isArray(tasks)) throw refuse('tasks', 'it must be a list of tasks made by task()');
  const names = new Set<string>();
  for (const one of tasks as readonly Partial<AnyTask>[]) {
    if (typeof one?.run !== 'function' || typeof one.name !== 'string') {
      throw refuse('tasks', 'each must be made by task()');
    }
    if (names.has(one.name)) throw refuse('tasks', `two are named ${one.name}`);
    names.add(one.name);
  }
}

function moduleOf({ name, module }: AnyTask): string {
  if (module !== undefined) return module;
  throw fault(
    'INVALID_INPUT',
    { field: `task ${name}`, problem: 'isolation "process" needs the module that exports the task' },
    { hint: `Give task("${name}", { module: import.meta.url, … }) in a module that a child process can import.` },
  );
}

function ladderOf({ abortGrace = DEFAULT_GRACE_MS, killGrace = DEFAULT_GRACE_MS }: AppWorkerOptions): Ladder {
  return { abortMs: parseDuration(abortGrace, 'abortGrace'), termMs: parseDuration(killGrace, 'killGrace') };
}

function refuse(field: string, problem: string): Error {
  return fault('INVALID_INPUT', { field, problem });
}

/** How long a transfer is tried again; undefined: as long as by default. */
export function artifactPatienceOf(options: AppWorkerOptions): number | undefined {
  checkOptions('worker options', options, KNOWN);
  const { artifactPatience } = options;
  return artifactPatience === undefined ? undefined : parseDuration(artifactPatience, 'artifactPatience');
}
