import { parseDuration } from '../../../core/duration.ts';
import type { ScheduleTimes } from '../../../core/schedule/expression.ts';
import type { Schedule } from '../../../engine/schedules.ts';
import { requestOf } from '../../../engine/trees/document-body.ts';
import { SCHEDULE_TYPES, type ScheduleType } from '../../../protocol/rpc/methods.ts';
import type { RpcCall, RpcHandlers } from '../context.ts';
import { RpcProblem } from '../problems.ts';
import { idOf } from '../task-names.ts';

type Scheduled = 'tasks.scheduled.list' | 'tasks.scheduled.due' | 'tasks.scheduled.init' | 'tasks.scheduled.complete';

/** The schedules of the engine by the words of apflow. The node itself fires them, so nobody needs to ask for what is due. */
export const scheduledMethods: RpcHandlers<Scheduled> = {
  async 'tasks.scheduled.list'({ engine, params }) {
    const { enabled_only: enabled, schedule_type: type, limit, offset } = params;
    const views = (await engine.schedules.list()).filter(({ state }) => !enabled || state === 'active').map(viewOf);
    return views.filter((view) => !type || view.schedule_type === type).slice(offset, offset + limit);
  },

  async 'tasks.scheduled.due'({ engine, params }) {
    const before = params.before ? Date.parse(params.before) : (await engine.store.clock()).calendar;
    const due = (await engine.schedules.list()).filter(({ nextAt }) => nextAt !== undefined && nextAt <= before);
    return due
      .toSorted((a, b) => (a.nextAt as number) - (b.nextAt as number))
      .slice(0, params.limit)
      .map(viewOf);
  },

  async 'tasks.scheduled.init'(call) {
    const { engine, params } = call;
    const id = idOf(params);
    const { schedule_type: type, schedule_expression: expression, schedule_enabled: enabled, timezone } = params;
    const work = await workOf(call, id);
    await call.admit(new Map([[work.queue, 1]]));
    await engine.schedules.put({
      ...work,
      ...timesOf(type, expression),
      name: id,
      ...(timezone ? { timezone } : {}),
    });
    await (enabled ? engine.schedules.resume(id) : engine.schedules.pause(id));
    return viewOf(await engine.schedules.get(id));
  },

  /** Programs that fire schedules by themselves say so when they have. */
  async 'tasks.scheduled.complete'({ engine, params }) {
    const id = idOf(params);
    const schedule = (await engine.schedules.list()).find(({ name }) => name === id);
    if (schedule === undefined) throw new RpcProblem('notFound', `there is no schedule ${id}`);
    return viewOf(schedule);
  },
};

/** Each fire pushes one task: what a tree or a dependency would need is not there. */
async function workOf({ engine }: Pick<RpcCall, 'engine'>, id: string) {
  const tree = await engine.documents.tree(id);
  const document = tree.find((one) => one.id === id);
  if (document === undefined) throw new RpcProblem('notFound', `there is no task ${id}`);
  if (document.body.dependencies.length > 0 || tree.some(({ parent }) => parent === id)) {
    throw new RpcProblem('transition', `the task ${id} has a tree or dependencies, and a schedule starts one task`);
  }
  const { op: _op, reuse: _reuse, ...work } = requestOf(document.body, { ...document, run: 1 });
  return work;
}

function timesOf(type: ScheduleType, expression: string): ScheduleTimes {
  if (type === 'once') return { at: expression };
  if (type !== 'interval') return { [type]: expression };
  if (!/^\d{1,9}$/.test(expression)) throw new RpcProblem('params', 'the expression of an interval is its seconds');
  return { every: `${expression}s` };
}

function viewOf({ name, handler, queue, times, timezone, missed, state, nextAt, last }: Schedule) {
  const [kind, expression] = Object.entries({ ...times, from: undefined }).find(([, said]) => said !== undefined) ?? [];
  const type = kind === 'at' ? 'once' : kind === 'every' ? 'interval' : kind;
  return {
    id: name,
    task_id: name,
    name: handler,
    queue,
    schedule_type: SCHEDULE_TYPES.find((one) => one === type) ?? 'cron',
    schedule_expression: type === 'interval' ? String(secondsOf(times)) : String(expression),
    schedule_enabled: state === 'active',
    state,
    timezone,
    missed,
    next_run_at: instantOf(nextAt),
    last_run_at: instantOf(last?.slot),
    last_outcome: last?.outcome ?? null,
    last_task: last?.task?.id ?? null,
  };
}

const secondsOf = ({ every = 0 }: ScheduleTimes): number => parseDuration(every, 'every') / 1000;
const instantOf = (at: number | undefined): string | null => (at === undefined ? null : new Date(at).toISOString());
