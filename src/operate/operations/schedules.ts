import { parseDuration } from '../../core/duration.ts';
import type { Engine } from '../../engine/engine.ts';
import { readSpec } from '../../engine/push/spec.ts';
import type { Fire, Schedule } from '../../engine/schedules.ts';
import { type FireView, readJson, type ScheduleDetailView, type ScheduleView, viewRules } from '../views.ts';
import type { Operations } from './operation.ts';

export const scheduleOperations = {
  async listSchedules({ engine }) {
    return { schedules: (await engine.schedules.list()).map(viewSchedule) };
  },

  async putSchedule({ engine }, { body }) {
    const { handler = body.queue, timeout, ...rest } = body;
    await engine.schedules.put({
      ...rest,
      handler,
      ...(timeout === undefined ? {} : { timeout: parseDuration(timeout, 'timeout') }),
    });
    return scheduleOf(engine, body.name);
  },

  async previewSchedule({ engine }, { query: { next, timezone, ...times } = {} }) {
    return { next: await engine.schedules.preview(times, timezone, next) };
  },

  async getSchedule({ engine }, { params, query }) {
    const { schedules } = engine;
    const [schedule, settings, next, history] = await Promise.all([
      scheduleOf(engine, params.name),
      settingsOf(engine, params.name),
      schedules.times(params.name, query?.next),
      schedules.history(params.name),
    ]);
    return { ...schedule, ...settings, next, history: history.map(viewFire) } satisfies ScheduleDetailView;
  },

  async removeSchedule({ engine }, { params }) {
    const before = await scheduleOf(engine, params.name);
    await engine.schedules.remove(params.name);
    return before;
  },

  async pauseSchedule({ engine }, { params }) {
    await engine.schedules.pause(params.name);
    return scheduleOf(engine, params.name);
  },

  async resumeSchedule({ engine }, { params }) {
    await engine.schedules.resume(params.name);
    return scheduleOf(engine, params.name);
  },

  async runSchedule({ engine }, { params }) {
    const { id } = await engine.schedules.run(params.name);
    return { id };
  },
} satisfies Operations;

async function scheduleOf(engine: Engine, name: string): Promise<ScheduleView> {
  return viewSchedule(await engine.schedules.get(name));
}

/** The rest of its task, so that who edits a schedule can put all of it again. */
async function settingsOf({ store }: Engine, name: string): Promise<Partial<ScheduleDetailView>> {
  const record = await store.triggerFind({ name });
  if (record === undefined) return {};
  const [[lane], body] = await Promise.all([
    store.laneGet({ lanes: [record.lane] }),
    store.specGet({ spec: record.spec }),
  ]);
  const { retry, timeoutMs, permissions } = readSpec(body);
  return {
    ...viewRules(lane?.rules),
    retry,
    ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }),
    ...(permissions === undefined ? {} : { permissions }),
  };
}

function viewSchedule({ payload, maxTries, times, nextAt, last, workflow, ...rest }: Schedule): ScheduleView {
  const { every, ...other } = times;
  return {
    ...rest,
    input: readJson(payload),
    maxAttempts: maxTries,
    times: { ...other, ...(every === undefined ? {} : { every: String(every) }) },
    ...(nextAt === undefined ? {} : { nextAt }),
    ...(last === undefined ? {} : { last: viewFire(last) }),
    ...(workflow === undefined ? {} : { workflow }),
  };
}

function viewFire({ slot, before, at, outcome, task }: Fire): FireView {
  return {
    slot,
    ...(before === undefined ? {} : { before }),
    at,
    outcome,
    ...(task === undefined ? {} : { task: task.id, state: task.state }),
  };
}
