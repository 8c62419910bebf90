import { z } from 'zod';
import type { Engine } from '../../engine/engine.ts';
import { DEFAULT_UNIQUE_MS, draft } from '../../engine/push/push.ts';
import type { Action } from '../../operate/audit/actions.ts';
import { requireTask } from '../../operate/calls/calls.ts';
import { pushOne } from '../../operate/calls/push-calls.ts';
import type { Caller } from '../../operate/operator.ts';
import type { AnswerOf } from '../../protocol/routes.ts';
import { Duration, TaskState } from '../../protocol/shapes/common.ts';

export interface ToolContext {
  readonly engine: Engine;
  readonly operator: Caller;
  /** Called before a push; rejects when this caller may not push more. */
  readonly admit: (queue: string) => Promise<void>;
}

/** A tool of MCP. */
export interface Tool {
  readonly title: string;
  readonly does: string;
  readonly input: z.ZodObject;
  /** Changes something: takes `dry_run`, and needs the role operator. */
  readonly writes: boolean;
  /** The action in the audit log; pushes have none. */
  readonly audits?: Action;
  readonly run: (context: ToolContext, input: never) => Promise<object>;
}

function tool<I extends z.ZodObject>(one: {
  readonly title: string;
  readonly does: string;
  readonly input: I;
  readonly writes: boolean;
  readonly audits?: Action;
  readonly run: (context: ToolContext, input: z.output<I>) => Promise<object>;
}): Tool {
  return one as Tool;
}

const id = z.string().describe('The id of a task: task_…');
const dryRun = z.boolean().default(false).describe('Only say what would happen');
const queue = z.string().describe('The name of a queue');
const MOST = 200;
const limit = z.number().int().min(1).max(MOST).default(20);

/** A model reads the whole answer: a large value costs more than it tells. */
const MOST_TEXT = 4000;

export const TOOLS: Readonly<Record<string, Tool>> = {
  list_tasks: tool({
    title: 'List tasks',
    does: 'The newest tasks, of some queues and states or of all',
    input: z.object({ queue: z.string().optional(), state: TaskState.optional(), limit }),
    writes: false,
    async run({ operator }, { queue: name, state, limit: most }) {
      const filter = { queue: name === undefined ? [] : [name], state: state === undefined ? [] : [state] };
      return { tasks: (await operator.call('listTasks', { query: { ...filter, limit: most } })).tasks.map(cut) };
    },
  }),
  show_task: tool({
    title: 'Show a task',
    does: 'One task with its input, its result or error, and its attempts',
    input: z.object({ id }),
    writes: false,
    run: async ({ operator }, { id: named }) => cut(await operator.call('getTask', { params: { id: named } })),
  }),
  explain_task: tool({
    title: 'Explain a task',
    does: 'Why a task is where it is: the verdict for each worker and each limit',
    input: z.object({ id }),
    writes: false,
    run: ({ operator }, { id: named }) => operator.call('explainTask', { params: { id: named } }),
  }),
  tail_log: tool({
    title: 'Read the end of a log',
    does: 'The last log lines of one task',
    input: z.object({ id, lines: limit }),
    writes: false,
    async run({ operator, engine }, input) {
      const { id: named, state } = await requireTask(operator, input.id);
      const lines = await lastLines(engine, engine.parseId(named), input.lines);
      return {
        state,
        lines: lines.map(({ attempt, at, stream, text }) => ({ attempt, at, stream, text })),
      };
    },
  }),
  list_queues: tool({
    title: 'List queues',
    does: 'Queues with the number of tasks in each state',
    input: z.object({}),
    writes: false,
    run: ({ operator }) => operator.call('listQueues'),
  }),
  list_workers: tool({
    title: 'List workers',
    does: 'Worker processes: their tags, handlers, slots and state',
    input: z.object({}),
    writes: false,
    run: async ({ operator }) => ({ workers: (await operator.call('listWorkers')).workers }),
  }),
  push_task: tool({
    title: 'Push a task',
    does: 'Adds a task to a queue',
    input: z.object({
      queue,
      handler: z.string().optional().describe('Default: the name of the queue'),
      input: z.unknown().optional().describe('Any JSON value'),
      priority: z.number().int().optional(),
      delay: Duration.optional(),
      max_attempts: z.number().int().optional(),
      unique: z.string().optional().describe('A repeat with the same key and input leads to the same task'),
      dry_run: dryRun,
    }),
    writes: true,
    async run({ operator, admit }, { queue: name, handler = name, max_attempts, dry_run, ...rest }) {
      const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
      const request = {
        queue: name,
        handler,
        ...given,
        ...(max_attempts === undefined ? {} : { maxAttempts: max_attempts }),
      };
      if (dry_run) {
        // Refuses what a push would refuse.
        draft(request, DEFAULT_UNIQUE_MS);
        const there = (await operator.call('listWorkers')).workers.filter((worker) =>
          worker.handlers.includes(handler),
        );
        return { dry_run: true, would_push: request, workers_with_this_handler: there.map((worker) => worker.name) };
      }
      await admit(name);
      return { dry_run: false, id: (await pushOne(operator, request)).id };
    },
  }),
  cancel_task: tool({
    title: 'Cancel a task',
    does: 'Ends a waiting task, asks the worker of a running one to stop; with tree also what depends on it',
    input: z.object({ id, tree: z.boolean().default(false), dry_run: dryRun }),
    writes: true,
    audits: 'cancelTask',
    async run({ operator }, { id: named, tree, dry_run }) {
      const answer = await operator.call('cancelTask', { params: { id: named }, body: { tree, dryRun: dry_run } });
      return tree ? answer : oneOf(named, answer);
    },
  }),
  retry_task: tool({
    title: 'Run a finished task again',
    does: 'Makes a finished task ready again, with all its tries; with tree also what depended on it',
    input: z.object({ id, tree: z.boolean().default(false), dry_run: dryRun }),
    writes: true,
    audits: 'retryTask',
    async run({ operator }, { id: named, tree, dry_run }) {
      const answer = await operator.call('retryTask', { params: { id: named }, body: { tree, dryRun: dry_run } });
      return tree ? answer : oneOf(named, answer);
    },
  }),
  pause_queue: tool({
    title: 'Pause a queue',
    does: 'No task of this queue is started until it is resumed',
    input: z.object({ queue, dry_run: dryRun }),
    writes: true,
    audits: 'pauseQueue',
    run: (context, input) => switchQueue(context, input, 'pause'),
  }),
  resume_queue: tool({
    title: 'Resume a queue',
    does: 'Tasks of this queue are started again',
    input: z.object({ queue, dry_run: dryRun }),
    writes: true,
    audits: 'resumeQueue',
    run: (context, input) => switchQueue(context, input, 'resume'),
  }),
};

async function switchQueue(
  { operator }: ToolContext,
  { queue: name, dry_run }: { readonly queue: string; readonly dry_run: boolean },
  act: 'pause' | 'resume',
): Promise<object> {
  const route = dry_run ? 'getQueue' : act === 'pause' ? 'pauseQueue' : 'resumeQueue';
  return { dry_run, act, queue: await operator.call(route, { params: { queue: name } }) };
}

/** The answer for one task, in few words. */
function oneOf(named: string, { tasks: [task], dryRun }: AnswerOf<'cancelTask'> | AnswerOf<'retryTask'>): object {
  return { id: named, state: task?.state, act: task?.act, dry_run: dryRun };
}

type Lines = Awaited<ReturnType<Engine['logs']['read']>>;

/** A log is read from its beginning, a thousand lines at a time. */
async function lastLines(engine: Engine, task: number, count: number): Promise<Lines> {
  let last: Lines = [];
  for (;;) {
    const after = last.at(-1);
    const page = await engine.logs.read(task, { limit: 1000, ...(after === undefined ? {} : { after }) });
    if (page.length === 0) return last;
    last = [...last, ...page].slice(-count);
  }
}

function cut<T extends object>(shown: T): object {
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, cutValue(value)]));
}

function cutValue(value: unknown): unknown {
  const text = JSON.stringify(value);
  if (text === undefined || text.length <= MOST_TEXT) return value;
  return `${text.slice(0, MOST_TEXT)}… (${text.length} characters; GET /api/v1/tasks/ID has all of it)`;
}
