import type { WorkflowRecord, WorkflowVersion } from '../../engine/records.ts';
import type { Schedule } from '../../engine/schedules.ts';
import type { WorkflowVersionView, WorkflowView } from '../../protocol/views.ts';
import type { EngineSnapshot } from '../engine-snapshot.ts';
import { readJson } from '../views.ts';

export async function viewWorkflow({ engine }: EngineSnapshot, record: WorkflowRecord): Promise<WorkflowView> {
  return workflowView(record, await engine.schedules.list());
}

export function workflowView(record: WorkflowRecord, schedules: readonly Schedule[]): WorkflowView {
  const { name, enabled, createdAt, changedAt } = record;
  const triggers = schedules.filter(({ workflow }) => workflow === name).map(triggerView);
  return { ...versionView(record), name, enabled, createdAt, changedAt, triggers };
}

export function versionView({ version, definition, at, by, restored }: WorkflowVersion): WorkflowVersionView {
  return {
    version,
    definition,
    at,
    ...(by === undefined ? {} : { by }),
    ...(restored === undefined ? {} : { restored }),
  };
}

function triggerView({ name, payload, times, timezone, state, nextAt }: Schedule): WorkflowView['triggers'][number] {
  const { every, ...other } = times;
  return {
    node: String((readJson(payload) as { readonly trigger?: unknown }).trigger),
    schedule: name,
    times: { ...other, ...(every === undefined ? {} : { every: String(every) }) },
    timezone,
    state,
    ...(nextAt === undefined ? {} : { nextAt }),
  };
}
