import { encodePayload } from '../../../core/task/payload.ts';
import { largeOutcome } from '../../artifacts/large-result.ts';
import type { AnyTask } from '../../define/definition.ts';
import { jsonSchemaOf } from '../../define/schema.ts';
import { StopError } from '../inline-runner.ts';
import { HAS_PROCESS_TABLE } from '../process/process-table.ts';
import { isGroup, LEASE_MARK, sayEnded, signal, sweep } from '../process/sweep.ts';
import { runHandler } from '../run-handler.ts';
import type { RunOutcome, RunRequest, StopReason } from '../runner.ts';
import { blockingChannel } from './blocking-channel.ts';
import { ChildOutbox } from './child-outbox.ts';
import { onGroupReport } from './group-reports.ts';
import { boundedLine } from './line-splitter.ts';
import { LoadError, loadTasks } from './load.ts';
import { type Answer, type FromChild, type ModuleToLoad, plainError, type Question, type ToChild } from './messages.ts';
import { OutputCapture } from './output-capture.ts';
import { findOwnPackage } from './own-package.ts';
import { RemoteArtifacts, RemoteCredentials, RemoteSession, RemoteWorkspace } from './remote-session.ts';
import { SpawnWatch } from './spawn-watch.ts';

// The entry of a child process: loads the modules once, then runs one task at a time for the worker that started it.

const MAX_PROGRESS = 16 * 1024;

interface Current {
  readonly run: number;
  stopped: StopReason | undefined;
  abort: AbortController | undefined;
  session: RemoteSession | undefined;
  artifacts: RemoteArtifacts | undefined;
}

findOwnPackage();

// Otherwise a message of a handler would pass for ours, and libraries would take the worker for their own parent.
delete process.send;
const send: (message: FromChild) => void = blockingChannel();

const spawns = new SpawnWatch();
const outbox = new ChildOutbox(send, () => capture.drain());
const capture = new OutputCapture(
  (stream, text) => outbox.line(stream, text),
  () => outbox.full,
);
const groups = new Set<number>();
const asked = new Map<number, (answer: Answer) => void>();
let asks = 0;
let tasks: ReadonlyMap<string, AnyTask> = new Map();
let incarnation = '';
let current: Current | undefined;

onGroupReport((pid, gone) => {
  if (!isGroup(pid)) return;
  if (gone) groups.delete(pid);
  else groups.add(pid);
  send({ type: 'group', pid, gone });
});

process.on('message', (message: ToChild) => {
  switch (message.type) {
    case 'load':
      incarnation = message.incarnation;
      void load(message.modules);
      break;
    case 'job':
      void serve(message.run, message.job);
      break;
    case 'abort':
      if (current?.run !== message.run) break;
      current.stopped = message.why;
      current.abort?.abort(new StopError(message.why));
      break;
    case 'end':
      process.exit();
      break;
    case 'ack':
      outbox.acknowledge(message.run, message.cost);
      break;
    case 'answer':
      asked.get(message.ask)?.(message.answer);
      asked.delete(message.ask);
      break;
  }
});
// The worker is gone. The guard ends the processes that this one has started.
process.once('disconnect', () => process.exit());
process.on('uncaughtExceptionMonitor', (error) => send({ type: 'uncaught', error: plainError(error) }));
process.on('exit', () => {
  capture.flush();
  outbox.flush();
});

async function load(modules: readonly ModuleToLoad[]): Promise<void> {
  try {
    tasks = await loadTasks(modules, (module) => send({ type: 'loading', module }));
    spawns.take();
    const bounded = [...tasks.values()].filter(({ timeoutMs }) => timeoutMs !== undefined);
    const timeouts = Object.fromEntries(bounded.map(({ name, timeoutMs }) => [name, timeoutMs as number]));
    const schemas = [...tasks.values()].flatMap(({ name: handler, schema: of }) => {
      const schema = jsonSchemaOf(of);
      return schema === undefined ? [] : [{ handler, schema }];
    });
    send({ type: 'ready', names: [...tasks.keys()], timeouts, schemas });
  } catch (error) {
    const module = error instanceof LoadError ? error.module : '';
    const problem = error instanceof Error ? error.message : String(error);
    const cause = error instanceof LoadError && error.cause !== undefined ? { error: plainError(error.cause) } : {};
    send({ type: 'unloadable', module, problem, ...cause });
  }
}

async function serve(run: number, request: RunRequest): Promise<void> {
  // Sent first: a task that kills its process in its first line counts as started all the same.
  send(run);
  outbox.begin(run);
  current = { run, stopped: undefined, abort: undefined, session: undefined, artifacts: undefined };
  // oxlint-disable-next-line node/no-process-env, no-restricted-properties -- written, not read: it is how the processes that the task starts are marked
  process.env[LEASE_MARK] = leaseOf(request);
  const ended = await performHere(request, current);
  current = undefined;
  // No answer comes after the end of the run.
  asked.clear();
  const littered = spawns.take() || groups.size > 0 ? !(await cleanUp(request)) : false;
  capture.flush();
  outbox.end({ ended, littered });
}

async function performHere(request: RunRequest, mine: Current): Promise<RunOutcome> {
  const definition = tasks.get(request.handler);
  if (definition === undefined) {
    const message = `no handler named ${request.handler} is here`;
    return { kind: 'unstarted', error: { name: 'HandlerNotFound', message } };
  }
  const parts = {
    get signal(): AbortSignal {
      return signalOf(mine);
    },
    log: (message: string) => say(mine, message),
    progress: (value: unknown) => report(mine, value),
    get session(): RemoteSession {
      mine.session ??= new RemoteSession((question) => ask(mine, question));
      return mine.session;
    },
    ...(request.credentials === undefined
      ? {}
      : { credentials: new RemoteCredentials(request.credentials, (question) => ask(mine, question)) }),
    get artifacts(): RemoteArtifacts {
      mine.artifacts ??= new RemoteArtifacts((question) => ask(mine, question));
      return mine.artifacts;
    },
    get workspaces(): RemoteWorkspace {
      return new RemoteWorkspace((question) => ask(mine, question));
    },
  };
  return portable(await runHandler(definition, request, parts), request, parts);
}

/** Made at the first use: most short handlers never look at it. */
function signalOf(mine: Current): AbortSignal {
  if (mine.abort === undefined) {
    mine.abort = new AbortController();
    if (mine.stopped !== undefined) mine.abort.abort(new StopError(mine.stopped));
  }
  return mine.abort.signal;
}

/** Output from before the question is sent before it. A question after the end of its run gets no answer. */
function ask(mine: Current, question: Question): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  if (current !== mine) return promise;
  const number = ++asks;
  asked.set(number, resolve);
  // A turn may end the attempt, and its lines with it.
  if (question.verb === 'turn') capture.flush();
  outbox.flush();
  send({ type: 'ask', run: mine.run, ask: number, question });
  return promise;
}

/** A line that a handler logs after its end is dropped. */
function say(mine: Current, message: string): void {
  if (current === mine) outbox.line('log', boundedLine(String(message)));
}

function report(mine: Current, value: unknown): void {
  if (current !== mine) return;
  try {
    outbox.progress(encodePayload(value, { maxBytes: MAX_PROGRESS, field: 'progress' }));
  } catch (error) {
    outbox.line('system', `[progress not kept: ${plainError(error).message}]`);
  }
}

/** The outcome as plain values that reach the worker unchanged. A result that cannot be sent is final: a retry would give the same. */
async function portable(
  ended: RunOutcome,
  { credentials }: RunRequest,
  { artifacts }: { readonly artifacts: RemoteArtifacts },
): Promise<RunOutcome> {
  switch (ended.kind) {
    case 'done':
      try {
        if (ended.result !== undefined) encodePayload(ended.result, { field: 'result' });
        return ended;
      } catch (error) {
        // What a run with credentials says must pass its worker, which hides them: a file would not.
        if (credentials !== undefined) return { kind: 'giveUp', error: plainError(error) };
        const large = await largeOutcome(ended.result, error, artifacts);
        return 'error' in large ? { kind: large.kind, error: plainError(large.error) } : large;
      }
    case 'parked':
      return ended;
    case 'retryAfter':
      return { ...ended, reason: ended.reason instanceof Error ? plainError(ended.reason) : plainValue(ended.reason) };
    case 'giveUp':
    case 'failed':
    case 'unstarted':
      return { kind: ended.kind, error: plainValue(ended.error) };
  }
}

/** A handler may throw any value. */
function plainValue(value: unknown): unknown {
  if (value instanceof Error) return plainError(value);
  try {
    encodePayload(value);
    return value;
  } catch {
    return plainError(value);
  }
}

/** Ends the processes that the task has left running. False: some may be left, so this process must end as well. */
async function cleanUp(request: RunRequest): Promise<boolean> {
  if (!HAS_PROCESS_TABLE) for (const group of groups) signal(-group, 'SIGKILL');
  const { ended, left } = await sweep({
    incarnation,
    lease: leaseOf(request),
    leader: process.pid,
    spareLeader: true,
    groups: new Set([process.pid, ...groups]),
    family: [],
  });
  if (ended > 0) outbox.line('system', sayEnded(ended, 'the task had left behind'));
  if (left > 0) outbox.line('system', `${left} of its processes could not be ended`);
  groups.clear();
  return HAS_PROCESS_TABLE && left === 0;
}

function leaseOf(request: RunRequest): string {
  return `${request.task}/${request.attempt}`;
}
