import { statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { environment } from '../config/environment.ts';
import { fault } from '../core/errors.ts';
import { AGENT_HANDLER } from '../flow/agent/definition.ts';
import { GRAPH_HANDLER } from '../flow/graph/graph-run.ts';
import { LOOP_GIT } from '../flow/loop/git/git-task.ts';
import { MACHINE_HANDLER } from '../flow/machine/machine-run.ts';
import { BUILTIN_NAMES as NAMES, settingsEnvironment } from '../worker/handlers/settings.ts';
import type { Worker } from '../worker/worker.ts';
import { graphs } from './graphs/graph-handler.ts';
import { agentHandler } from './library/agents.ts';
import { machineHandler } from './machines/machine-handler.ts';
import type { AppWorkerOptions } from './worker.ts';
import type { WorkspaceOptions } from './workspaces/worker-settings.ts';

export interface BuiltinOptions {
  readonly name: string;
  readonly slots: number;
  readonly tags: readonly string[];
  /** A worker with a higher priority gets work first. */
  readonly priority: number;
  readonly queues: readonly string[];
  /** Files with handlers of the user's own. */
  readonly handlers: readonly string[];
  /** Which of `shell` and `js` are offered: they run code that comes with the task. */
  readonly allow: readonly ('shell' | 'js')[];
  readonly allowHttp: readonly string[];
  /** Variables that agents of machines may send to any address. Who may run programs here can read all of them. */
  readonly allowEnv: readonly string[];
  /** Folders in which loops may work, by their names. */
  readonly loopRoots?: Readonly<Record<string, string>> | undefined;
  /** Where and how workspaces are made. Undefined: none are. Their roots are those of loops. */
  readonly workspaces?: Omit<WorkspaceOptions, 'roots'> | undefined;
  /** Modules of the `js` handler must be in this folder. */
  readonly root: string;
  /** The ticket that its pool has started it with. */
  readonly ticket?: string | undefined;
  readonly once?: boolean;
  readonly idleExitMs?: number | undefined;
  readonly onSettled?: NonNullable<AppWorkerOptions['onSettled']>;
  readonly demands?: AppWorkerOptions['demands'];
  /** How long a transfer of an artifact is tried again; default five minutes. */
  readonly artifactPatienceMs?: number | undefined;
  /** Of a joined worker: the only hosts beside its node that bytes of artifacts go to and come from. */
  readonly artifactHosts?: readonly string[] | undefined;
}

/** The names of the built-in handlers. */
export const BUILTIN_NAMES: readonly string[] = [...NAMES, MACHINE_HANDLER, GRAPH_HANDLER, AGENT_HANDLER, LOOP_GIT];

/** A worker with the built-in handlers and those of handlers files. Each task runs in a child process, but for machines. */
export function builtinWorker(app: { worker(options: AppWorkerOptions): Worker }, options: BuiltinOptions): Worker {
  return app.worker(builtinWorkerOptions(options));
}

export function builtinWorkerOptions(options: BuiltinOptions): AppWorkerOptions {
  const {
    name,
    slots,
    tags,
    priority,
    queues,
    handlers,
    allow,
    allowHttp,
    allowEnv,
    root,
    loopRoots = {},
    ticket,
    once,
    idleExitMs,
    onSettled,
    demands,
    artifactPatienceMs,
    workspaces,
  } = options;
  const builtin = new URL(`../worker/handlers/builtin${extname(import.meta.url)}`, import.meta.url).href;
  const only = ['aggregate', 'echo', 'http', ...allow] as const;
  const settings = settingsEnvironment({
    only,
    http: { allow: allowHttp, sign: allow.includes('shell') ? true : allowEnv },
    js: { root },
  });
  return {
    tasks: [
      graphs(),
      agentHandler({
        allowHttp,
        programs: allow.includes('shell'),
        ...(allow.includes('shell') ? {} : { sendable: new Set(allowEnv) }),
        folder: root,
      }),
      machineHandler({
        allowHttp,
        programs: allow.includes('shell'),
        ...(allow.includes('shell') ? {} : { sendable: new Set(allowEnv) }),
        folder: root,
        loopRoots,
        clones: workspaces?.hosts !== undefined,
        ...(allow.includes('js') ? { modules: root } : {}),
      }),
    ],
    ...(once === true && handlers.length === 0
      ? { known: { module: builtin, handlers: only } }
      : { modules: [builtin, ...handlers.map(moduleUrl)] }),
    name,
    slots,
    tags,
    priority,
    ...(queues.length === 0 ? {} : { queues }),
    ...(ticket === undefined ? {} : { ticket }),
    ...(once === undefined ? {} : { once }),
    ...(idleExitMs === undefined ? {} : { idleExit: idleExitMs }),
    ...(onSettled === undefined ? {} : { onSettled }),
    ...(demands === undefined ? {} : { demands }),
    ...(artifactPatienceMs === undefined ? {} : { artifactPatience: artifactPatienceMs }),
    ...(workspaces === undefined ? {} : { workspaces: { ...workspaces, roots: loopRoots } }),
    env: { ...environment(), ...settings },
  };
}

function moduleUrl(file: string): string {
  const path = resolve(file);
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return pathToFileURL(path).href;
  throw fault(
    'INVALID_INPUT',
    { field: 'handlers file', problem: `${file} is not a file` },
    { hint: 'Name a module (.ts, .js or .mjs) that exports tasks made by task().' },
  );
}
